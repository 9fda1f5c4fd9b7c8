"""The largest batch of every precision and GPU count on each device of the chart: a heat map as plain values."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from planner_app.core.estimate.curve import LargestBatch
from planner_app.core.estimate.need import Needs
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.refusal import short_name
from planner_app.core.hardware.roofline import SIXTEEN_BITS
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.hardware.shop import BFLOAT16_CAPABILITY
from planner_app.core.model.setup import Precision, Setup, StepSetup
from planner_app.gui.background.answers import LargestOf
from planner_app.gui.panels.chart.values import Solved
from planner_app.gui.state.choice import Choice
from planner_app.reports.run_words import gpus_text, run_reason, run_text

Key = tuple[StepSetup, int]  # a step, and the limit it must fit in


class State(StrEnum):
    """The text of a cell without a number."""

    FITS = ""
    NEVER = "does not fit"
    UNLIMITED = "no limit"
    WORKING = "…"
    TRACING = "tracing …"
    UNTRACED = "not traced"
    FAILED = "can't be traced"


@dataclass(frozen=True, slots=True)
class Cell:
    """One precision on a number of GPUs of one device.

    Attributes:
        batch: The largest global batch, counting tight; `per_gpu_batch` is each GPU's share.
        sure: The largest global batch that is sure to fit; None until it is solved.
        heat: 0 for the smallest batch of all that fit, 1 for the largest.
        xla: Whether XLA compiles the step; None until it is traced.
    """

    device: Device
    precision: Precision
    gpus: int
    state: State
    batch: int = 0
    per_gpu_batch: int = 0
    bound: bool = False
    sure: int | None = None
    heat: float = 0.0
    chosen: bool = False
    tip: str = ""
    xla: bool | None = None

    @property
    def run(self) -> str:
        """On how many GPUs, and compiled by XLA or not once that is known."""
        return gpus_text(self.gpus) if self.xla is None else run_text(self.gpus, self.xla)

    @property
    def text(self) -> str:
        return f"{self.batch:,}{'+' if self.bound else ''}" if self.state is State.FITS else self.state

    @property
    def below(self) -> str:
        """The smaller line."""
        if self.state is State.FITS:
            sure = [f"{self.sure:,} sure"] if self.sure is not None and self.sure != self.batch else []
            each = [f"{self.per_gpu_batch:,} each"] if self.batch != self.per_gpu_batch else []
            return ", ".join(each + sure)
        return "choose to trace" if self.state is State.UNTRACED else ""

    @property
    def where(self) -> str:
        return f"{place(self.device)}, {self.precision}, {self.run}"


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One row per precision; one column per GPU count of each device."""

    devices: tuple[Device, ...] = ()
    precisions: tuple[Precision, ...] = ()
    gpu_counts: tuple[int, ...] = ()
    cells: tuple[tuple[Cell, ...], ...] = ()

    @property
    def columns(self) -> tuple[tuple[Device, int], ...]:
        return tuple((device, gpus) for device in self.devices for gpus in self.gpu_counts)

    def run(self, column: int) -> str:
        """How a column runs, as far as its cells know and agree."""
        said = {row[column].run for row in self.cells if row[column].xla is not None}
        return said.pop() if len(said) == 1 else gpus_text(self.columns[column][1])


def place(device: Device) -> str:
    return short_name(device) if device.cuda else "CPU"


def questions(choice: Choice, needs: Needs) -> dict[Key, tuple[LargestOf, LargestOf]]:
    """What to solve for the cells whose step is traced, counting tight and sure; many cells share one."""
    found = {}
    for device in choice.devices:
        limit = allocator_limit_bytes(device)
        lines = {line.step(device.target): line for line in choice.lines()}
        for step, line in lines.items():
            if limit is not None and needs.has(line, device):
                need = needs.of(line, device)
                found[step, limit] = LargestOf(need), LargestOf(need, sure=True)
    return found


def heat_map(
    choice: Choice,
    needs: Needs,
    largest: Mapping[Key, Solved],
    trouble: Callable[[Setup], str],
) -> HeatMap:
    """`trouble` says why a setup can't be traced for the chosen device."""
    rows = [
        [
            _cell(choice, device, choice.line(precision, gpus), needs, largest, trouble)
            for device in choice.devices
            for gpus in choice.gpu_counts
        ]
        for precision in choice.precisions
    ]
    batches = [cell.batch for row in rows for cell in row if cell.batch]
    low, high = math.log2(min(batches, default=1)), math.log2(max(batches, default=1))
    cells = tuple(tuple(replace(cell, heat=_heat(cell, low, high)) for cell in row) for row in rows)
    return HeatMap(choice.devices, choice.precisions, choice.gpu_counts, cells)


def _heat(cell: Cell, low: float, high: float) -> float:
    if not cell.batch:
        return 0.0
    return (math.log2(cell.batch) - low) / (high - low) if high > low else 0.5


def _cell(
    choice: Choice,
    device: Device,
    line: Setup,
    needs: Needs,
    largest: Mapping[Key, Solved],
    trouble: Callable[[Setup], str],
) -> Cell:
    step, limit = line.step(device.target), allocator_limit_bytes(device)
    solved, sure = (None, None) if limit is None else largest.get((step, limit), (None, None))
    looked_at = (choice.device, choice.setup.precision, choice.setup.gpus)
    share = line.shares
    cell = Cell(
        device,
        line.precision,
        line.gpus,
        _state(choice, device, line, step, needs, solved, trouble),
        batch=solved.batch * share if solved else 0,
        per_gpu_batch=solved.batch if solved else 0,
        bound=bool(solved and solved.bound),
        sure=sure.batch * share if sure else None,
        chosen=(device, line.precision, line.gpus) == looked_at,
    )
    memory = needs.memories.get(step)
    if memory is not None and memory.points:
        cell = replace(cell, xla=memory.xla)
    why = "" if cell.xla is None else run_reason(line, cuda=device.cuda, xla=cell.xla)
    return replace(cell, tip=_tip(cell, solved, share, why, trouble(line)))


def _state(
    choice: Choice,
    device: Device,
    line: Setup,
    step: StepSetup,
    needs: Needs,
    solved: LargestBatch | None,
    trouble: Callable[[Setup], str],
) -> State:
    if solved is not None:
        return State.FITS if solved.batch else State.NEVER
    if step in needs.memories:
        return State.UNLIMITED if allocator_limit_bytes(device) is None else State.WORKING
    if step not in choice.steps():
        return State.UNTRACED
    return State.FAILED if trouble(line) else State.TRACING


def _tip(cell: Cell, solved: LargestBatch | None, share: int, why: str, trouble: str) -> str:
    lines = [cell.where]
    if cell.state is State.FITS and solved is not None:
        each = "" if share == 1 else f": {solved.batch:,} at a time on each GPU"
        lines.append(f"At most {cell.text} samples per update, counting tight{each}")
        if cell.sure is not None:
            lines.append(f"Sure to fit: {cell.sure:,}")
        lines.append(f"Largest multiple of 8: {solved.multiple_of_8 * share:,}")
        lines.append(f"Largest power of two on each GPU: {solved.power_of_2 * share:,}")
        if cell.bound:
            lines.append("Larger batches were not tried: memory hardly grows with the batch")
    elif cell.state is State.NEVER:
        lines.append("Not even one sample per GPU fits")
    elif cell.state is State.UNTRACED:
        lines.append("The step differs on this kind of device: choose the cell to trace it")
    elif cell.state is State.FAILED:
        lines.append(trouble)
    if why:
        lines.append(why)
    capability = cell.device.compute_capability
    if SIXTEEN_BITS.get(cell.precision) == "bfloat16" and capability and capability < BFLOAT16_CAPABILITY:
        lines.append(f"{place(cell.device)} has no bfloat16 units: mixed_float16 is faster there")
    return "\n".join(lines)
