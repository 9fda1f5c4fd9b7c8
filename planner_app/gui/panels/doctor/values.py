"""The doctor panel as plain values: a log, its diagnosis, and the estimate to compare with."""

from dataclasses import dataclass, replace
from pathlib import Path

from planner_app.core.doctor import Diagnosis
from planner_app.core.doctor.comparison import Comparison
from planner_app.core.doctor.place import placed
from planner_app.core.doctor.remedies import ADVISE
from planner_app.core.hardware.device import Device, Segment
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.model.setup import Setup
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.open_model import FailedRun
from planner_app.units import format_bytes

NEARLY_ALL = 0.9  # of a device's memory: what is missing may be other programs' or an older driver's
MOST_STEPS = 4  # towards a device with a given limit
IN_THE_APP = "Open the model here: the chart shows which changes make it fit, and what they cost."
IN_THE_CHART = "Show it in the chart: the buttons above it are the changes that make it fit, the cheapest first."


@dataclass(frozen=True, slots=True)
class Log:
    """A file, or pasted text."""

    path: str = ""
    text: str = ""

    @property
    def name(self) -> str:
        if self.path:
            return Path(self.path).name
        return f"Pasted text, {self.text.count(chr(10)) + 1:,} lines"


@dataclass(frozen=True, slots=True)
class Beside:
    """The estimate for the setup in the log. `trouble` says why there is none."""

    setup: Setup
    device: Device
    compared: Comparison | None = None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class DoctorValues:
    """Attributes:
    fill: How the log's setup differs from the chosen one; empty if it does not.
    stale: The estimate is not for the chosen setup.
    has_model: A model is open to compare with.
    """

    log: str = ""
    found: Diagnosis | None = None
    beside: Beside | None = None
    fill: str = ""
    stale: bool = False
    has_model: bool = False

    @property
    def wants_model(self) -> bool:
        """Whether the model that was trained is not the open one."""
        found = self.found
        return found is not None and found.kind.on_device and (not self.has_model or bool(doubt(found)))


def failed_run(log: str, found: Diagnosis, setup: Setup, device: Device) -> FailedRun:
    """What the chart marks: as much as was in use and asked for, or the limit."""
    held = found.in_use_bytes or found.peak_bytes
    wanted = held + found.requested_bytes if held and found.requested_bytes else None
    return FailedRun(log, setup, device, wanted or found.limit_bytes)


def as_limited(device: Device, found: Diagnosis) -> Device:
    """The device with as much memory as the training had of it, where that was clearly less than all."""
    limit, whole = found.limit_bytes, allocator_limit_bytes(device)
    if not device.cuda or limit is None or whole is None or device.total_bytes is None or limit > NEARLY_ALL * whole:
        return device
    name = f"{device.name} ({format_bytes(limit)})"
    limited = replace(device, name=name, segment=Segment.CUSTOM, marketed_gb=None)
    for _ in range(MOST_STEPS):  # what TensorFlow leaves to others depends on how much there is
        missing = limit - (allocator_limit_bytes(limited) or 0)
        limited = replace(limited, total_bytes=(limited.total_bytes or 0) + missing)
    return limited


def remedies(values: DoctorValues, found: Diagnosis) -> tuple[str, ...]:
    """Where the command line refers to a command, the app refers to what is on the page."""
    here = IN_THE_CHART if values.has_model and not values.wants_model else IN_THE_APP
    return tuple(here if each == ADVISE else each for each in found.remedies)


def doubt(found: Diagnosis) -> str:
    """A warning if the log names a layer that the open model does not have."""
    if found.layer or not found.operation or not placed(found.operation).layer:
        return ""
    return f"{found.operation} names no layer of the open model: was another model trained?"


def side_by_side(found: Diagnosis, beside: Beside) -> list[tuple[str, str, str]]:
    """The same quantities, from the log and from the estimate."""
    compared = beside.compared
    if compared is None or compared.peak_bytes is None:
        return []
    low, high = compared.low_bytes or compared.peak_bytes, compared.high_bytes or compared.peak_bytes
    told = f"{compared.per_gpu_batch:,}" if compared.batch_from_log else "not in the log"
    reached = found.peak_bytes or found.in_use_bytes
    asked = f" + {format_bytes(found.requested_bytes)} asked for" if found.requested_bytes else ""
    largest = "" if compared.largest_batch is None else f"{compared.largest_batch:,}"
    room = format_bytes(compared.limit_bytes) if compared.limit_bytes else ""
    rows = [
        ("batch on each GPU", told, f"{compared.per_gpu_batch:,}"),
        (
            "in use at the peak",
            f"{format_bytes(reached)}{asked}" if reached else "not in the log",
            f"{format_bytes(compared.peak_bytes)} ({format_bytes(low)} to {format_bytes(high)})",
        ),
        ("limit", room, "") if compared.limit_in_log else ("limit", "not in the log", room),
        ("largest batch within it", "", largest),
    ]
    return [row for row in rows if row[1] or row[2]]


def fill_text(choice: Choice, setup: Setup, device: Device) -> str:
    """What would change, briefly."""
    said = []
    if setup.batch != choice.setup.batch:
        said.append(f"batch {setup.batch:,}")
    if setup.jit is not choice.setup.jit:
        said.append(f"XLA {setup.jit}")
    if device != choice.device:
        room = f" with {format_bytes(device.total_bytes)}" if not device.cuda and device.total_bytes else ""
        said.append(f"{device.name if device.cuda else 'the CPU'}{room}")
    return ", ".join(said)
