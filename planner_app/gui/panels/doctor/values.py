"""The doctor panel as plain values: a log, its diagnosis, and the estimate to compare with."""

from dataclasses import dataclass
from pathlib import Path

from planner_app.core.doctor import Diagnosis
from planner_app.core.doctor.comparison import Comparison
from planner_app.core.doctor.place import placed
from planner_app.core.doctor.remedies import ADVISE
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup
from planner_app.gui.choice import Choice
from planner_app.units import format_bytes

IN_THE_APP = "The Advice panel shows which changes make it fit, and what they cost."


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
    """

    log: str = ""
    found: Diagnosis | None = None
    beside: Beside | None = None
    fill: str = ""
    stale: bool = False


def remedies(found: Diagnosis) -> tuple[str, ...]:
    """Where the command line refers to a command, the app refers to a panel."""
    return tuple(IN_THE_APP if each == ADVISE else each for each in found.remedies)


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
    rows = [
        ("batch on each GPU", told, f"{compared.per_gpu_batch:,}"),
        (
            "in use at the peak",
            f"{format_bytes(reached)}{asked}" if reached else "not in the log",
            f"{format_bytes(compared.peak_bytes)} ({format_bytes(low)} to {format_bytes(high)})",
        ),
        ("limit", format_bytes(compared.limit_bytes) if compared.limit_bytes else "not in the log", ""),
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
