"""Lines of the driver and the machine's GPUs; what the run was made of, and how far it had come."""

from collections.abc import Callable

from planner_app.core.doctor.log.gathering import Gathering, short
from planner_app.core.doctor.log.lines import Line
from planner_app.core.doctor.log.matching import Found, bytes_of, number_of, text_of
from planner_app.core.doctor.log.seen import (
    EVIDENCE_LENGTH,
    MOST_EVIDENCE,
    MOST_NAMES,
    Evidence,
    Progress,
    SeenDevice,
)
from planner_app.units import count_of

MOST_DEVICES = 64


def refused(gathering: Gathering, found: Found, line: Line) -> None:
    if len(gathering.seen.refused) < MOST_NAMES:
        gathering.seen.refused.append(number_of(found, "exact") or 0)
    gathering.refused_line = line.number
    gathering.seen.note("refused", line)


def created(gathering: Gathering, found: Found, line: Line) -> None:
    device = short(found.get("device"))
    evidence = Evidence(line.number, line.text.strip()[:EVIDENCE_LENGTH])
    others = [known for known in gathering.seen.devices if known.device != device][: MOST_DEVICES - 1]
    limit = (number_of(found, "limit") or 0) << 20
    announced = SeenDevice(device, text_of(found, "name").strip(), limit, text_of(found, "capability"), evidence)
    gathering.seen.devices = [*others, announced]


def gpu_name(gathering: Gathering, found: Found, _line: Line) -> None:
    """Told before TensorFlow makes a device of it, until 2.4."""
    if len(gathering.seen.gpu_names) < MOST_DEVICES:
        gathering.seen.gpu_names.add(text_of(found, "name"))


def free_at_start(gathering: Gathering, found: Found, line: Line) -> None:
    total, free = bytes_of(found, "total"), bytes_of(found, "free")
    if total and free is not None:
        gathering.seen.free_at_start = total, free
        gathering.seen.note("free_at_start", line)


def total_at_start(gathering: Gathering, found: Found, line: Line) -> None:
    """Until 1.1 total and free were written on lines of their own."""
    gathering.seen.total_at_start = bytes_of(found, "total")
    gathering.seen.note("free_at_start", line)


def left_at_start(gathering: Gathering, found: Found, line: Line) -> None:
    total, free = gathering.seen.total_at_start, bytes_of(found, "free")
    if total and free is not None:
        gathering.seen.free_at_start = total, free
        gathering.seen.note("free_at_start", line)


def device_size(gathering: Gathering, found: Found, _line: Line) -> None:
    gathering.seen.total_at_start = bytes_of(found, "total")


def smi_process(gathering: Gathering, found: Found, line: Line) -> None:
    if len(gathering.seen.processes) < MOST_EVIDENCE:
        held = (number_of(found, "mib") or 0) << 20
        gathering.seen.processes.append((number_of(found, "pid") or 0, text_of(found, "name"), held))
    gathering.seen.note("smi_process", line)


def retraced(gathering: Gathering, found: Found, line: Line) -> None:
    gathering.seen.retraced = number_of(found, "times") or 0, number_of(found, "calls") or 0
    gathering.seen.note("retraced", line)


def version(gathering: Gathering, found: Found, _line: Line) -> None:
    gathering.seen.version = gathering.seen.version or text_of(found, "number")


def policy(gathering: Gathering, found: Found, _line: Line) -> None:
    gathering.seen.precision = f"mixed_{text_of(found, 'what')}"


def batch(gathering: Gathering, found: Found, _line: Line) -> None:
    gathering.seen.batch = number_of(found, "size") or gathering.seen.batch


def ended_badly(gathering: Gathering, _found: Found, line: Line) -> None:
    gathering.seen.bad_line = line.number
    gathering.seen.last_error = Evidence(line.number, line.text.strip()[:EVIDENCE_LENGTH])


def epoch(gathering: Gathering, found: Found, line: Line) -> None:
    last, number = gathering.progress, number_of(found, "number") or 0
    said_again = number == last.epoch and last.step == 0
    fits = last.fits + (last.fits == 0 or (number <= last.epoch and not said_again))
    gathering.advance(Progress(fits, number, number_of(found, "of") or 0, last.steps, unit=last.unit), line)


def own_epoch(gathering: Gathering, found: Found, line: Line) -> None:
    """A line of the user's own at the end of an epoch: at least a step has ended."""
    last, number = gathering.progress, number_of(found, "done") or 0
    if number > last.epoch or not last.fits:
        ended = Progress(max(1, last.fits), number, last.epochs, last.steps + 1, last.step, last.of, last.unit)
        gathering.advance(ended, line)


def step(gathering: Gathering, found: Found, line: Line) -> None:
    last, done = gathering.progress, number_of(found, "done") or 0
    if done > last.step:
        of = count_of(text_of(found, "of"))
        # Before 2.2 Keras counted samples: the first line tells how many are a step.
        unit = (last.unit or done) if gathering.seen.notes.get("samples") else 1
        ended = -(-(done - last.step) // unit)
        last = Progress(last.fits, last.epoch, last.epochs, last.steps + ended, done, of, unit)
    gathering.advance(last, line)


HANDLERS: dict[str, Callable[[Gathering, Found, Line], None]] = {
    handler.__name__: handler
    for handler in (
        *(refused, created, gpu_name, free_at_start, total_at_start, left_at_start, device_size, smi_process),
        *(retraced, version, policy, batch, ended_badly, epoch, own_epoch, step),
    )
}
