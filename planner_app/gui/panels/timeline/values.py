"""Memory over one step as plain values: stacked terms, phases and peak, one layer's share, and a measured run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner_app.core.estimate.breakdown import Term
from planner_app.core.estimate.estimate import Estimate
from planner_app.core.measure.measurement import Measurement
from planner_app.core.model.setup import Setup
from planner_app.core.model.trace import Phase
from planner_app.core.replay.memory import Memory
from planner_app.core.replay.stack import Bytes, Numbers, Stack, layer_bytes, stack, thinned, visible
from planner_app.core.replay.timeline import Timeline

MOST_MOVES = 1200  # about what a screen has pixels for
MOST_HELD = 12
SEEN = 0.005  # of the peak: smaller terms are left out of the legend


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """The moves on the chart and their positions: 0 is the start of the step, 1 its end.

    Each visible move takes the same width, however long it lasts.
    """

    stack: Stack
    places: np.ndarray

    @property
    def peak_place(self) -> float:
        return float(self.places[self.stack.peak])

    @property
    def peak_bytes(self) -> int:
        return int(self.stack.in_use[self.stack.peak])

    @property
    def terms(self) -> tuple[Term, ...]:
        """The visible ones."""
        return tuple(term for term, size in self.stack.terms.items() if size.max() >= SEEN * self.peak_bytes)

    def nearest(self, place: float) -> int:
        """The move at this position."""
        return int(np.clip(np.searchsorted(self.places, place, side="right") - 1, 0, len(self.places) - 1))


@dataclass(frozen=True, slots=True)
class CourseOf:
    memory: Memory
    batch: int

    def answer(self) -> Course:
        whole = stack(self.memory, self.batch)
        seen = whole.at(visible(whole.in_use, whole.peak))
        kept = thinned(seen.in_use, seen.peak, MOST_MOVES)
        return Course(seen.at(kept), spread(len(seen.moves))[kept])


@dataclass(frozen=True, slots=True)
class LayerOf:
    """What one layer has in memory over the step."""

    memory: Memory
    batch: int
    layer: str

    def answer(self) -> tuple[Numbers, Bytes]:
        return layer_bytes(self.memory, self.batch, self.layer)


@dataclass(frozen=True, slots=True)
class Span:
    """The position of a phase on the axis."""

    phase: Phase
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class HeldRow:
    """One buffer that is alive at the peak."""

    name: str
    layer: str
    term: Term
    size_bytes: int
    operation: str


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A curve over the step."""

    text: str
    places: np.ndarray
    size_bytes: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class TimelineValues:
    """Attributes:
    title: The setup shown.
    peak: The peak, its layer and phase; "" while unknown. `operation` causes it.
    compiler: What the compiler says of it, where it was asked.
    layer: What the highlighted layer has in memory.
    measured: The same step, as it was measured.
    note: What is being waited for, or went wrong.
    """

    title: str = ""
    course: Course | None = None
    spans: tuple[Span, ...] = ()
    peak: str = ""
    operation: str = ""
    compiler: str = ""
    held: tuple[HeldRow, ...] = ()
    layer: Line | None = None
    measured: Line | None = None
    note: str = ""


def spread(count: int) -> np.ndarray:
    """Evenly spaced positions from 0 to just below 1, since the last move has a width too."""
    return np.arange(count) / max(count, 1)


def spans(course: Course) -> tuple[Span, ...]:
    """Forward, backward, update: where most moves of each lie. In between they mix, as operations become ready."""
    numbers = {phase: number for number, phase in enumerate(Phase)}
    codes = np.array([numbers[source.phase] for source in course.stack.sources])[course.stack.source_of]
    forward, backward, update = (np.concatenate(([0], np.cumsum(codes == code))) for code in range(len(Phase)))
    # A good border has most moves of one phase before it and most moves of the next phase after it.
    second = backward - update
    best = np.maximum.accumulate(second[::-1])[::-1]
    first = int(np.argmax(forward - backward + best))
    last = first + int(np.argmax(second[first:]))
    ends = np.append(course.places, 1.0)
    bounds = (0.0, float(ends[first]), float(ends[last]), 1.0)
    return tuple(
        Span(phase, begin, end) for phase, begin, end in zip(Phase, bounds, bounds[1:], strict=False) if end > begin
    )


def layer_line(course: Course, layer: str, known: tuple[Numbers, Bytes]) -> Line:
    moves, size = known
    return Line(layer, course.places, size[np.searchsorted(moves, course.stack.moves, side="right") - 1])


def measured_line(measurements: Sequence[Measurement], setup: Setup) -> Line | None:
    """The newest run of this setup whose step was watched. Replicas that share an allocator are counted as one."""
    for measurement in reversed(measurements):
        watched = [run.timeline for run in measurement.runs if run.timeline and run.timeline.moments]
        if measurement.setup == setup and watched:
            replicas = 1 if measurement.place.on_gpu else setup.gpus
            return _line(watched[-1], replicas, f"measured on {measurement.hardware}")
    return None


def _line(timeline: Timeline, replicas: int, text: str) -> Line:
    in_use = np.array([timeline.start_bytes, *(moment.in_use_bytes for moment in timeline.moments)], dtype=np.int64)
    seen = visible(in_use, int(np.argmax(in_use)))
    size = in_use[seen]
    kept = thinned(size, int(np.argmax(size)), MOST_MOVES)
    shared = f", mean of {replicas} replicas" if replicas > 1 else ""
    return Line(f"{text}{shared}", spread(len(seen))[kept], size[kept] / replicas)


def held_rows(estimate: Estimate) -> tuple[HeldRow, ...]:
    return tuple(
        HeldRow(each.layer or each.operation.rpartition("/")[2] or str(each.term), each.layer, each.term,
                each.size_bytes, each.operation)
        for each in estimate.held[:MOST_HELD]
    )  # fmt: skip
