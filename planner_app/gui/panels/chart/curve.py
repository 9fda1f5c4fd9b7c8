"""A line of the chart: memory of one GPU over its batch, as far as it is known."""

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise, takewhile
from weakref import WeakKeyDictionary

from planner_app.core.compile.line import Line
from planner_app.core.estimate.curve import anchors
from planner_app.core.estimate.need import Need
from planner_app.core.measure.calibration import Calibration
from planner_app.core.replay.memory import Memory

GIB = 1 << 30
STRAIGHT = 0.015  # of the height: nobody sees a smaller bend
NARROW = 0.04  # of a batch: where a break is known this well, it is a few pixels wide
MOST_REPLAYS = 60  # of a line, beside its anchors


@dataclass(frozen=True, slots=True)
class Curve:
    batches: tuple[int, ...]
    peak_gib: tuple[float, ...]
    low_gib: tuple[float, ...]
    high_gib: tuple[float, ...]

    def at(self, batch: int) -> tuple[float, float, float]:
        """Expected, low and high, interpolated between the two nearest batches and extrapolated beyond the last."""
        place = min(max(bisect_left(self.batches, batch), 1), len(self.batches) - 1)
        if len(self.batches) == 1:
            return self.peak_gib[0], self.low_gib[0], self.high_gib[0]
        left, right = self.batches[place - 1], self.batches[place]
        share = (batch - left) / (right - left)
        peak, low, high = (
            values[place - 1] + (values[place] - values[place - 1]) * share
            for values in (self.peak_gib, self.low_gib, self.high_gib)
        )
        return peak, low, high

    def largest_within(self, limit_gib: float) -> int:
        """The largest batch on the line within a limit, 0 if there is none: close enough until replayed."""
        if self.peak_gib[0] > limit_gib:
            return 0
        for place in range(1, len(self.batches)):
            if self.peak_gib[place] > limit_gib:
                left, right = self.batches[place - 1], self.batches[place]
                rise = self.peak_gib[place] - self.peak_gib[place - 1]
                return left + int((right - left) * (limit_gib - self.peak_gib[place - 1]) / rise)
        return self.batches[-1]


# Caches each line by its known points, calibration and compiler figures; dropped with the model.
_curves: WeakKeyDictionary[Memory, dict[tuple[int, Calibration | None, Line], Curve]] = WeakKeyDictionary()


def curve_of(need: Need) -> Curve:
    known, key = _curves.setdefault(need.memory, {}), (len(need.memory.points), need.calibration, need.line)
    if key not in known:
        known[key] = _curve(need)
    return known[key]


def _curve(need: Need) -> Curve:
    batches = sorted({point.batch for point in need.memory.points} | {each.batch for each in need.line.anchors})
    levels = [need.level(batch) for batch in batches]
    return Curve(
        tuple(batches),
        tuple(level.peak_bytes / GIB for level in levels),
        tuple(level.low_bytes / GIB for level in levels),
        tuple(level.high_bytes / GIB for level in levels),
    )


@dataclass(frozen=True, slots=True)
class ExactLine:
    """Replays batches between the known ones wherever a straight line would miss what lies there.

    Memory is straight but for a few breaks, where an algorithm changes; each is narrowed down until its place is seen.
    It begins with the anchors, so that a line that was replayed once asks for the same batches again and no others.
    """

    need: Need

    def answer(self) -> Curve:
        known = {point.batch for point in self.need.memory.points}
        open_pieces = list(pairwise(takewhile(known.__contains__, anchors(max(known, default=1)))))
        for _ in range(MOST_REPLAYS):
            if not open_pieces:
                break
            left, right = open_pieces.pop(0)
            middle = (left + right) // 2
            if right - left > max(1, int(left * NARROW)) and not self._is_straight(left, middle, right):
                open_pieces += [(left, middle), (middle, right)]
        return curve_of(self.need)

    def _is_straight(self, left: int, middle: int, right: int) -> bool:
        below, here, above = (self.need.memory.point(batch).in_use_bytes for batch in (left, middle, right))
        straight = below + (above - below) * (middle - left) / (right - left)
        return abs(here - straight) <= STRAIGHT * max(here, 1)
