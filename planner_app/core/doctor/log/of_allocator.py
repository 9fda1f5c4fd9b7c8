"""Lines of the allocators: a request that failed, and the dump that follows it."""

import re

from planner_app.core.doctor.log.gathering import TRIED_KERNELS, Gathering
from planner_app.core.doctor.log.lines import Line
from planner_app.core.doctor.log.matching import Found, bytes_of, number_of, text_of
from planner_app.core.doctor.log.seen import MOST_NAMES

COMPILED = "StatefulPartitionedCall"  # a whole function, compiled by XLA, asks for its block of memory
_CHUNKS = re.compile(r"\b(InUse|Free|Chunk) {1,4}at (?:0x)?[0-9A-Fa-f]{1,16} (?:next \d{1,20} )?of size (\d{1,20})")
_REQUESTED_BY = re.compile(r"requested by op ([^\s\"<]{1,300})")
_MAP, MAP_LENGTH = frozenset("*x_"), 100


def ran_out(gathering: Gathering, found: Found, line: Line) -> None:
    if "not a failure" in line.text or "not a failure" in line.following:
        size = bytes_of(found, "size")
        if size is not None and len(gathering.seen.workspace) < MOST_NAMES:
            gathering.seen.workspace.append(size)
        gathering.seen.note("workspace", line)
        return
    report = gathering.new("ran_out", line, text_of(found, "allocator"))
    rounded = number_of(found, "rounded")
    report.requested = bytes_of(found, "size") if rounded is None else rounded
    report.exact = rounded is not None
    gathering.dumping = report  # before 1.14 no line announced the dump
    operation = text_of(found, "op") or _asked_in(line.following)
    if operation == COMPILED:
        report.xla = True
    elif operation:
        report.operation = operation


def _asked_in(following: str) -> str:
    found = _REQUESTED_BY.search(following[:80])
    return found[1] if found else ""


def dump(gathering: Gathering, found: Found, line: Line) -> None:
    allocator = text_of(found, "allocator")
    report = gathering.last(allocator)
    if report is None:  # the line before it was cut off
        report = gathering.new("ran_out", line, allocator)
    gathering.dumping = None if report.dumped else report
    report.dumped = True


def bin_of(gathering: Gathering, _found: Found, line: Line) -> None:
    _without_head(gathering, line)


def _without_head(gathering: Gathering, line: Line) -> None:
    """A dump whose head was cut off begins in its middle."""
    if gathering.dumping is None and gathering.last() is None:
        gathering.dumping = gathering.new("ran_out", line)
        gathering.dumping.dumped = True


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


def same_size(gathering: Gathering, found: Found, line: Line) -> None:
    _without_head(gathering, line)
    report, size = gathering.dumping, number_of(found, "size")
    if report is not None and size is not None and len(report.by_size) < MOST_NAMES:
        report.by_size[size] += number_of(found, "count") or 0


def in_use_sum(gathering: Gathering, found: Found, line: Line) -> None:
    _without_head(gathering, line)
    report = gathering.current
    if report is not None and report.in_use is None:
        report.in_use = bytes_of(found, "size")
        report.keep(line)


def pool(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.current
    if report is None:  # all before it was cut off
        report = gathering.new("ran_out", line)
    if report.pool is None:
        report.pool, report.limit = bytes_of(found, "pool"), bytes_of(found, "limit")
        report.available = bytes_of(found, "available")
        report.keep(line)


def stat(gathering: Gathering, found: Found, line: Line) -> None:
    report, value, key = gathering.current, bytes_of(found, "value"), text_of(found, "key")
    if report is not None and value is not None and key not in report.stats:
        report.stats[key] = value
        if key in ("Limit", "InUse"):
            report.keep(line)


def occupancy(gathering: Gathering, _found: Found, line: Line) -> None:
    written = line.text[-MAP_LENGTH:]
    if len(written) < MAP_LENGTH or not _MAP.issuperset(written):
        return
    report = gathering.current
    if report is not None and not report.occupancy:
        report.occupancy = written
        report.keep(line)
    gathering.dumping = None  # the dump's last line


def nothing_taken(gathering: Gathering, _found: Found, line: Line) -> None:
    if (report := gathering.current) is not None:
        report.nothing_taken = True
        report.keep(line)


def async_failed(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.new("async_failed", line, text_of(found, "allocator"))
    report.requested, report.exact = number_of(found, "size"), True


def cuda_free(gathering: Gathering, found: Found, line: Line) -> None:
    """Of the allocator that failed, or of the library that could not start, whichever spoke last."""
    reports = [report for report in gathering.seen.reports if report.rank == gathering.rank]
    if reports and reports[-1].cuda_free is None:
        reports[-1].cuda_free, reports[-1].cuda_total = number_of(found, "free"), number_of(found, "total")
        reports[-1].keep(line)


def profiling(gathering: Gathering, found: Found, line: Line) -> None:
    """No kernel of cuDNN had room for its scratch: the smallest of the requests tells how little was left."""
    if "EXHAUSTED" not in line.text and "ALLOC_FAILED" not in line.text:
        gathering.seen.note("profiling", line)
        return
    if line.number - gathering.fell_back < TRIED_KERNELS:
        return
    report = gathering.once("scratch", line)
    report.temporary = True
    size = bytes_of(found, "size")
    if size is not None:
        report.requested = size if report.requested is None else min(size, report.requested)
        report.exact = True


HANDLERS = {
    handler.__name__: handler
    for handler in (
        *(ran_out, dump, same_size, in_use_sum, pool, stat, occupancy),
        *(nothing_taken, async_failed, cuda_free, profiling),
    )
} | {"bin": bin_of}
