"""Lines of the allocators: a request that failed, and the dump that follows it."""

import re

from planner_app.core.doctor.gathering import Gathering
from planner_app.core.doctor.lines import Line
from planner_app.core.doctor.seen import MOST_NAMES
from planner_app.core.doctor.signs import bytes_of

Found = re.Match[str]
COMPILED = "StatefulPartitionedCall"  # a whole function, compiled by XLA, asks for its block of memory
_CHUNKS = re.compile(r"\b(InUse|Free|Chunk) +at (?:0x)?[0-9A-Fa-f]+ (?:next \d+ )?of size (\d+)")
_REQUESTED_BY = re.compile(r"requested by op (\S+)")


def ran_out(gathering: Gathering, found: Found, line: Line) -> None:
    if "not a failure" in line.text or "not a failure" in line.following:
        size = bytes_of(found, "size")
        if size is not None and len(gathering.seen.workspace) < MOST_NAMES:
            gathering.seen.workspace.append(size)
        gathering.seen.note("workspace", line)
        return
    report = gathering.new("ran_out", line, found["allocator"] or "")
    report.requested = int(found["rounded"]) if found["rounded"] else bytes_of(found, "size")
    report.exact = found["rounded"] is not None
    gathering.dumping = report  # before 1.14 no line announced the dump
    operation = found["op"] or _asked_in(line.following)
    if operation == COMPILED:
        report.xla = True
    elif operation:
        report.operation = operation


def _asked_in(following: str) -> str:
    found = _REQUESTED_BY.search(following[:80])
    return found[1] if found else ""


def dump(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.last(found["allocator"])
    if report is None:  # the line before it was cut off
        report = gathering.new("ran_out", line, found["allocator"])
    gathering.dumping = None if report.dumped else report
    report.dumped = True


def chunks(gathering: Gathering, lines: str) -> None:
    """Many lines of a dump at once."""
    report = gathering.dumping
    if report is None:
        return
    for use, size in _CHUNKS.findall(lines):
        if use == "Free":
            report.free_sum += int(size)
            report.largest_free = max(report.largest_free, int(size))
        else:
            report.used_sum += int(size)


def same_size(gathering: Gathering, found: Found, _line: Line) -> None:
    report = gathering.dumping
    if report is not None and len(report.by_size) < MOST_NAMES:
        report.by_size[int(found["size"])] += int(found["count"])


def in_use_sum(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.current
    if report is not None and report.in_use is None:
        report.in_use = bytes_of(found, "size")
        report.keep(line)


def pool(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.current
    if report is not None and report.pool is None:
        report.pool, report.limit = bytes_of(found, "pool"), bytes_of(found, "limit")
        report.available = bytes_of(found, "available")
        report.keep(line)


def stat(gathering: Gathering, found: Found, line: Line) -> None:
    report, value = gathering.current, bytes_of(found, "value")
    if report is not None and value is not None and found["key"] not in report.stats:
        report.stats[found["key"]] = value
        if found["key"] in ("Limit", "InUse"):
            report.keep(line)


def occupancy(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.current
    if report is not None and not report.occupancy:
        report.occupancy = found["map"]
        report.keep(line)
    gathering.dumping = None  # the dump's last line


def async_failed(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.new("async_failed", line, found["allocator"])
    report.requested, report.exact = int(found["size"]), True


def cuda_free(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.last()
    if report is not None and report.cuda_free is None:
        report.cuda_free, report.cuda_total = int(found["free"]), int(found["total"])
        report.keep(line)


HANDLERS = {
    handler.__name__: handler
    for handler in (ran_out, dump, same_size, in_use_sum, pool, stat, occupancy, async_failed, cuda_free)
}
