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
AGREED = 0.05
PER_OCTAVE = 0.06
BEYOND_DOUBT = 1.15  # where a piece is broken, the truth often lies on its neighbour drawn on, which is not the edge
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


@dataclass(frozen=True, slots=True)
class Line:
    """Anchors by batch, smallest first.

    Attributes:
        versions: Of the libraries that made the programs and compiled them.
        trouble: Why the compiler gave no figure when it was asked last; "" if it gave one.
    """

    anchors: tuple[Anchor, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict, hash=False)
    trouble: str = ""

    def anchor(self, batch: int) -> Anchor | None:
        return next((each for each in self.anchors if each.batch == batch), None)

    def with_anchor(self, anchor: Anchor) -> "Line":
        others = (each for each in self.anchors if each.batch != anchor.batch)
        return replace(self, anchors=tuple(sorted((*others, anchor), key=lambda each: each.batch)), trouble="")

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
        """The model's course from one anchor to the next, moved so that it meets both."""
        held = _straight(batch, left, right, lambda each: each.held_bytes)
        moved = _straight(batch, left, right, lambda each: each.total_bytes - model(each.batch).peak_bytes)
        temp = max(model(batch).peak_bytes + moved - held, 0.0)
        pieces = [(left, right)]  # the straight line, and the pieces on both sides drawn on into this one
        pieces += [(one, other) for one, other in pairwise(self.anchors) if other is left or one is right]
        doubts = [abs(temp - _straight(batch, *piece, lambda each: each.temp_bytes)) for piece in pieces]
        half = min(max(AGREED * temp, BEYOND_DOUBT * max(doubts)), _half(model(batch)))
        return _level(held, temp, half, Source.LINE)

    def _beyond(self, batch: int, nearest: Anchor, model: ModelLevel) -> Level:
        """The model's course past the last anchor, as much too high or too low as it is there."""
        there = model(nearest.batch).peak_bytes - nearest.held_bytes
        share = nearest.temp_bytes / there if there > 0 else 1.0
        temp = max((model(batch).peak_bytes - nearest.held_bytes) * share, 0.0)
        octaves = abs(log2(batch / nearest.batch))
        half = min((AGREED + PER_OCTAVE * octaves) * temp, _half(model(batch)))
        return _level(nearest.held_bytes, temp, half, Source.LINE if octaves <= NEAR_OCTAVES else Source.ESTIMATE)


NO_LINE = Line()


def _straight(batch: int, left: Anchor, right: Anchor, of: Callable[[Anchor], float]) -> float:
    return of(left) + (of(right) - of(left)) * (batch - left.batch) / (right.batch - left.batch)


def _half(level: Level) -> float:
    return (level.high_bytes - level.low_bytes) / 2


def _level(held: float, temp: float, half: float, source: Source) -> Level:
    peak, half = held + temp, max(half, BESIDE_PROGRAM * (held + temp))
    return Level(int(peak), int(peak - half), int(peak + half), source)
