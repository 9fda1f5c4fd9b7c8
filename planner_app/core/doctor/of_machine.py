"""Lines of the driver, the CUDA libraries and the host; and how far the run had come."""

import re
from collections.abc import Callable

from planner_app.core.doctor.gathering import Gathering, short
from planner_app.core.doctor.lines import Line
from planner_app.core.doctor.seen import (
    EVIDENCE_LENGTH,
    MOST_EVIDENCE,
    MOST_NAMES,
    Evidence,
    Progress,
    SeenDevice,
)
from planner_app.core.doctor.signs import bytes_of

Found = re.Match[str]
MOST_DEVICES = 64


def driver_refused(gathering: Gathering, found: Found, line: Line) -> None:
    if len(gathering.seen.refused) < MOST_NAMES:
        gathering.seen.refused.append(int(found["exact"]))
    gathering.seen.note("refused", line)


def no_context(gathering: Gathering, _found: Found, line: Line) -> None:
    gathering.once("no_context", line)


def nccl(gathering: Gathering, _found: Found, line: Line) -> None:
    gathering.once("nccl", line)


def handle(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.once("handle", line)
    report.status = report.status or found["status"].strip()


def created(gathering: Gathering, found: Found, line: Line) -> None:
    device = short(found["device"])
    evidence = Evidence(line.number, line.text.strip()[:EVIDENCE_LENGTH])
    others = [known for known in gathering.seen.devices if known.device != device][: MOST_DEVICES - 1]
    announced = SeenDevice(device, found["name"].strip(), int(found["limit"]) << 20, found["capability"], evidence)
    gathering.seen.devices = [*others, announced]


def free_at_start(gathering: Gathering, found: Found, line: Line) -> None:
    total, free = bytes_of(found, "total"), bytes_of(found, "free")
    if total and free is not None:
        gathering.seen.free_at_start = total, free
        gathering.seen.note("free_at_start", line)


def smi_process(gathering: Gathering, found: Found, line: Line) -> None:
    if len(gathering.seen.processes) < MOST_EVIDENCE:
        gathering.seen.processes.append((int(found["pid"]), found["name"], int(found["mib"]) << 20))
    gathering.seen.note("smi_process", line)


def killed(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.once("killed", line)
    report.process = report.process or found["name"]
    if found["rss"] and report.resident is None:
        report.resident = int(found["rss"]) << 10


def killed_by(gathering: Gathering, _found: Found, line: Line) -> None:
    gathering.once("killed", line)


def memory_error(gathering: Gathering, found: Found, line: Line) -> None:
    report = gathering.once("memory_error", line)
    if report.requested is None:
        report.requested = bytes_of(found, "size")


def retraced(gathering: Gathering, found: Found, line: Line) -> None:
    gathering.seen.retraced = int(found["times"]), int(found["calls"])
    gathering.seen.note("retraced", line)


def epoch(gathering: Gathering, found: Found, _line: Line) -> None:
    last, number = gathering.seen.progress, int(found["number"])
    fits = last.fits + (last.fits == 0 or number <= last.epoch)
    gathering.seen.progress = Progress(fits, number, int(found["of"]), last.steps, unit=last.unit)


def step(gathering: Gathering, found: Found, _line: Line) -> None:
    last, done = gathering.seen.progress, int(found["done"])
    if done > last.step:
        of = int(found["of"]) if (found["of"] or "").isdecimal() else 0
        # Before 2.2 Keras counted samples: the first line tells how many are a step.
        unit = (last.unit or done) if gathering.seen.notes.get("samples") else 1
        ended = -(-(done - last.step) // unit)
        gathering.seen.progress = Progress(last.fits, last.epoch, last.epochs, last.steps + ended, done, of, unit)


HANDLERS: dict[str, Callable[[Gathering, Found, Line], None]] = {
    "driver_refused": driver_refused,
    "no_context": no_context,
    "nccl": nccl,
    "handle": handle,
    "created": created,
    "free_at_start": free_at_start,
    "smi_process": smi_process,
    "killed": killed,
    "killed_by": killed_by,
    "memory_error": memory_error,
    "retraced": retraced,
    "epoch": epoch,
    "step": step,
}
