"""The compiler's line: memory over the batch, drawn through a few programs that were compiled.

    line = Line((Anchor(64, compiled), Anchor(256, other)))
    line.level(64, model)       # the compiler's own figure
    line.level(128, model)      # between two of them; the band is as wide as neighbouring anchors disagree

A compilation takes the same time at every batch. Memory over the batch is a line that is straight or broken in a few
places, where a fusion, an algorithm or the schedule changes. The model of fusion knows some of these places, so it
shapes the line between anchors; the anchors say how high it lies.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import log2

from planner_app.core.compile.check import Compiled
from planner_app.core.estimate.level import Level, Source

ModelLevel = Callable[[int], Level]

# The program is laid out to the byte. What it does not hold: TensorFlow's own XLA is of another month than the one that
# was asked, and the allocator finds a place for one large block.
BESIDE_PROGRAM = 0.01
# Shares of the temporary memory, held against the curves in tests/accuracy/unseen_results.json: half the width of the
# band where neighbouring anchors agree, and what each doubling away from the last anchor adds.
AGREED = 0.06
PER_OCTAVE = 0.06
BEYOND_DOUBT = 1.15  # where a piece is broken, the truth often lies on its neighbour drawn on, which is not the edge
# GetSchedulerMemoryLimit (gpu_hlo_schedule.cc) and --xla_gpu_memory_limit_slop_factor: of the device's memory XLA plans
# with this share, takes off what is given to the program and what it gives back, and computes results again where the
# rest is not enough.
PLANNED_SHARE, SLOP = 0.80, 0.95
AROUND_OCTAVES = 2.0  # as far as one batch tells of another; a batch of one is compiled without cuBLAS
NEAR_OCTAVES = 1.0  # further away the figure is the estimate's, moved by the nearest anchor


@dataclass(frozen=True, slots=True)
class Anchor:
    """A per-GPU batch and what the compiler says of it."""

    batch: int
    compiled: Compiled = field(hash=False)  # of hundreds of buffers

    @property
    def total_bytes(self) -> int:
        return self.compiled.total_bytes

    @property
    def temp_bytes(self) -> int:
        return self.compiled.temp_bytes

    @property
    def held_bytes(self) -> int:
        """Beside the temporary block: arguments, and results that don't lie in their memory."""
        return self.total_bytes - self.temp_bytes

    @property
    def gaps(self) -> float:
        """The share of the temporary block that lies idle even when most of it is taken.

        XLA puts the largest buffers in first (heap_simulator.cc), and how well the others go between them differs from
        batch to batch: of a step that is packed with gaps here, the next batch may have none.
        """
        return max(1 - self.compiled.peak_bytes / self.temp_bytes, 0.0) if self.temp_bytes else 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """Anchors by batch, smallest first.

    Attributes:
        versions: Of the libraries that made the programs and compiled them.
        trouble: Why the compiler gave no figure when it was asked last; "" if it gave one.
        memory_bytes: Of the device, as the compiler was told; 0 where it is not known.
    """

    anchors: tuple[Anchor, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    trouble: str = ""
    memory_bytes: int = 0

    def anchor(self, batch: int) -> Anchor | None:
        return next((each for each in self.anchors if each.batch == batch), None)

    def with_anchor(self, anchor: Anchor) -> "Line":
        others = (each for each in self.anchors if each.batch != anchor.batch)
        return replace(self, anchors=tuple(sorted((*others, anchor), key=lambda each: each.batch)), trouble="")

    def octaves_to(self, batch: int) -> float:
        """How many doublings away the nearest anchor is; 0 where there is none."""
        return min((_octaves(each, batch) for each in self.anchors), default=0.0)

    def level(self, batch: int, model: ModelLevel) -> Level:
        """Memory at any batch. Without anchors it is the model's."""
        place = bisect_left(self.anchors, batch, key=lambda each: each.batch)
        if not self.anchors:
            return model(batch)
        if place < len(self.anchors) and self.anchors[place].batch == batch:
            return _level(self.anchors[place].held_bytes, self.anchors[place].temp_bytes, 0.0, Source.COMPILER)
        if 0 < place < len(self.anchors):
            return self._between(batch, self.anchors[place - 1], self.anchors[place], model)
        return self._beyond(batch, self.anchors[0 if place == 0 else -1], model)

    def _between(self, batch: int, left: Anchor, right: Anchor, model: ModelLevel) -> Level:
        """The model's course from one anchor to the next, moved so that it meets both.

        In doubt it is the straight line, the pieces on both sides drawn on into this one, the model as far off as it is
        at one of the anchors around, or what is left without an anchor's gaps.
        """
        held = _straight(batch, left, right, lambda each: each.held_bytes)
        moved = _straight(batch, left, right, lambda each: each.total_bytes - model(each.batch).peak_bytes)
        own = model(batch).peak_bytes - held
        temp = self._within_plan(batch, left, right, model, max(own + moved, 0.0))
        pieces = [(left, right)]
        pieces += [(one, other) for one, other in pairwise(self.anchors) if other is left or one is right]
        drawn = [abs(temp - _straight(batch, *piece, lambda each: each.temp_bytes)) for piece in pieces]
        around = [each for piece in pieces for each in piece if _octaves(each, batch) <= AROUND_OCTAVES]
        apart, further = (
            [abs(temp - own * share_of(each, model)) for each in anchors] for anchors in ((left, right), around)
        )
        packed = [temp * each.gaps for each in (left, right)]
        beside = min(BEYOND_DOUBT * max(drawn + further + packed), _half(model(batch)))
        half = max(AGREED * temp, BEYOND_DOUBT * max(apart), beside)
        return _level(held, temp, half, Source.LINE)

    def _within_plan(self, batch: int, left: Anchor, right: Anchor, model: ModelLevel, temp: float) -> float:
        """Where XLA begins to compute results again between two anchors, the course of the left one goes on until
        then: the right one, which is lower for it, tells nothing of the batches before."""
        limit = self._plan_bytes(right)
        unlimited = (model(right.batch).peak_bytes - right.held_bytes) * share_of(left, model)
        if not self.memory_bytes or left.temp_bytes > limit or unlimited <= max(limit, right.temp_bytes):
            return temp
        held, straight = (
            _straight(batch, left, right, of) for of in (lambda each: each.held_bytes, lambda each: each.temp_bytes)
        )
        return min((model(batch).peak_bytes - held) * share_of(left, model), max(limit, straight))

    def _plan_bytes(self, anchor: Anchor) -> float:
        """The most that XLA plans for temporary memory beside an anchor's arguments and results."""
        compiled = anchor.compiled
        given = compiled.argument_bytes + compiled.output_bytes
        return SLOP * (PLANNED_SHARE * self.memory_bytes - given)

    def _beyond(self, batch: int, nearest: Anchor, model: ModelLevel) -> Level:
        """The model's course past the last anchor: as far off as there, further away ever less so."""
        octaves = _octaves(nearest, batch)
        share = share_of(nearest, model) ** (1 / max(octaves, NEAR_OCTAVES))
        temp = max((model(batch).peak_bytes - nearest.held_bytes) * share, 0.0)
        half = min((AGREED + PER_OCTAVE * octaves) * temp, _half(model(batch)))
        return _level(nearest.held_bytes, temp, half, Source.LINE if octaves <= NEAR_OCTAVES else Source.ESTIMATE)


NO_LINE = Line()


def _straight(batch: int, left: Anchor, right: Anchor, of: Callable[[Anchor], float]) -> float:
    return of(left) + (of(right) - of(left)) * (batch - left.batch) / (right.batch - left.batch)


def _octaves(anchor: Anchor, batch: int) -> float:
    return abs(log2(anchor.batch / batch))


def share_of(anchor: Anchor, model: ModelLevel) -> float:
    """The compiler's block of temporary memory over the model's."""
    there = model(anchor.batch).peak_bytes - anchor.held_bytes
    return anchor.temp_bytes / there if there > 0 else 1.0


def _half(level: Level) -> float:
    return (level.high_bytes - level.low_bytes) / 2


def _level(held: float, temp: float, half: float, source: Source) -> Level:
    peak, half = held + temp, max(half, BESIDE_PROGRAM * (held + temp))
    return Level(int(peak), int(peak - half), int(peak + half), source)
