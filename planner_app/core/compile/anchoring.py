"""Which batch to compile next: for the largest batch that fits, and for a line of the chart.

    while (batch := next_for_largest(line, model, capacity)) is not None:
        line = line.with_anchor(Anchor(batch, compiled(batch)))
    settled(line, capacity)     # it fits, and one more does not: both were compiled

The line answers from what was compiled so far, the model of fusion guides it where nothing was.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from planner_app.core.compile.line import Anchor, Line, ModelLevel, share_of
from planner_app.core.estimate.level import Level, Source

FURTHEST_BATCH = 1 << 20  # nobody trains with more samples on a GPU; arrays of that length break compilers
MOST_FOR_LARGEST = 14  # compilations; four are enough for most models
EXACT_UP_TO = 1000  # above, the next batch that was compiled and does not fit may be a thousandth away
MOST_FOR_CHART = 6
SURE_ENOUGH = 0.125  # the width of a band, as a share of the figure, that is not worth another compilation
EVEN = 0.04  # shares of the model that differ by less are taken for one: the line may be off by as much
LONGEST_PIECE = 4  # times the batch at its beginning
FURTHEST_OCTAVES = 3.0  # from what was compiled to what is compiled next: a batch of one tells nothing of a thousand
SMALLEST_SHARE = 0.05  # of the chart's height: what is lower than this can hardly be told apart there


@dataclass(frozen=True, slots=True)
class Settled:
    """What was compiled about a capacity.

    Attributes:
        batch: The largest that fits, 0 for none.
        above: The smallest that does not; None where all fit.
    """

    batch: int
    above: int | None

    @property
    def confirmed(self) -> bool:
        """One more does not fit; of more than a thousand, one thousandth more."""
        return self.above is not None and self.above - self.batch <= max(1, self.batch // EXACT_UP_TO)


def settled(line: Line, capacity_bytes: int) -> Settled:
    return Settled(*_around(line, capacity_bytes))


def next_for_largest(line: Line, model: ModelLevel, capacity_bytes: int) -> int | None:
    """None once the largest batch that fits and the one above it are compiled, or too much was tried."""
    known = settled(line, capacity_bytes)
    if known.confirmed or len(line.anchors) >= MOST_FOR_LARGEST or known.batch >= FURTHEST_BATCH:
        return None
    lowest, highest = known.batch + 1, (known.above or FURTHEST_BATCH + 1) - 1
    if _jumps(line, known, capacity_bytes):
        return _likely_break(lowest, highest)
    guess = largest_on(line, model, capacity_bytes, known.batch, highest)
    return min(max(guess, lowest), highest)


def next_for_chart(line: Line, model: ModelLevel, top_bytes: int, most: int = MOST_FOR_CHART) -> int | None:
    """The batch that would tell most, of the powers of two up to `top_bytes`; None once the line is sure enough.

    The largest comes first: that is where capacities lie. Then breaks between compiled batches, where they are highest
    on the chart, and only then batches further away. A break between neighbouring powers of two is halved at last.
    """
    if len(line.anchors) >= most:
        return None
    seen = _levels(line, model, top_bytes)
    largest = max(seen, default=None)
    if not line.anchors or (largest is not None and line.octaves_to(largest) > FURTHEST_OCTAVES):
        return largest  # a batch chosen far below tells nothing of it
    levels = {batch: level for batch, level in seen.items() if line.octaves_to(batch) <= FURTHEST_OCTAVES}
    first, last = line.anchors[0].batch, line.anchors[-1].batch
    unsure = [batch for batch, level in levels.items() if _width(level) > SURE_ENOUGH * level.peak_bytes]
    broken = [batch for batch in unsure if first < batch < last]
    if broken:
        return max(broken, key=lambda batch: _width(levels[batch]))
    if unsure:
        return max(unsure, key=lambda batch: (_width(levels[batch]) / levels[batch].peak_bytes, batch))
    return _inside_last_piece(line) or _inside_uneven_piece(line, model, levels)


def _levels(line: Line, model: ModelLevel, top_bytes: int) -> dict[int, Level]:
    """At the powers of two that can be told apart on the chart."""
    levels: dict[int, Level] = {}
    batch = 1
    while batch <= FURTHEST_BATCH and (level := line.level(batch, model)).peak_bytes <= top_bytes:
        if level.peak_bytes >= SMALLEST_SHARE * top_bytes:
            levels[batch] = level
        batch *= 2
    return levels


def _inside_last_piece(line: Line) -> int | None:
    """A batch where the piece with the largest batches is long enough to hide that it is broken."""
    ends = [each.batch for each in line.anchors[-2:]]
    return ends[1] // 2 if len(ends) == 2 and ends[1] > LONGEST_PIECE * ends[0] else None


def _inside_uneven_piece(line: Line, model: ModelLevel, batches: Iterable[int]) -> int | None:
    """A batch between two anchors that don't agree on how far off the model is: somewhere there the line breaks.

    The largest of `batches` there, the middle where there is none; of the pieces the one with the most bytes in doubt.
    """
    shares = [(each.batch, share_of(each, model)) for each in line.anchors]
    uneven: list[tuple[float, int]] = []
    for (low, one), (high, other) in pairwise(shares):
        apart = abs(one - other)
        if apart > EVEN * max(one, other) and high - low > 1:
            inside = max((batch for batch in batches if low < batch < high), default=(low + high) // 2)
            uneven.append((apart * model(inside).peak_bytes, inside))
    return max(uneven)[1] if uneven else None


def is_open(level: Level, capacity_bytes: int) -> bool:
    """The capacity lies inside the band of a figure that the compiler could settle."""
    return level.source is not Source.COMPILER and level.low_bytes <= capacity_bytes < level.high_bytes


def largest_on(line: Line, model: ModelLevel, capacity_bytes: int, fits: int, highest: int) -> int:
    """The largest batch up to `highest` that is within the capacity on the line; `fits` is known to be."""

    def is_within(batch: int) -> bool:
        return line.level(batch, model).peak_bytes <= capacity_bytes

    below, step = fits, 1
    while below + step <= highest and is_within(below + step):
        below, step = below + step, 2 * step
    above = min(below + step, highest + 1)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if is_within(middle) else (below, middle)
    return below


def _around(line: Line, capacity_bytes: int) -> tuple[int, int | None]:
    """The largest compiled batch that fits below the smallest that does not; 0 and None where there is none."""
    above = min((each.batch for each in line.anchors if not _fits(each, capacity_bytes)), default=None)
    fitting = [each.batch for each in line.anchors if _fits(each, capacity_bytes)]
    return max((batch for batch in fitting if above is None or batch < above), default=0), above


def _jumps(line: Line, known: Settled, capacity_bytes: int) -> bool:
    """The curve is broken where it crosses the capacity: the piece on one side, drawn on, never gets there.

    XLA computes results again to stay within four fifths of a device's memory, and from some batch on it can't.
    """
    below = [each for each in line.anchors if each.batch <= known.batch][-2:]
    beyond = [each for each in line.anchors if known.above is not None and each.batch >= known.above][:2]
    if known.above is None or not known.batch:
        return False
    fits_on = len(below) == 2 and _drawn_on(below[0], below[1], known.above) <= capacity_bytes
    exceeds_on = len(beyond) == 2 and _drawn_on(beyond[0], beyond[1], known.batch) > capacity_bytes
    return fits_on or exceeds_on


def _likely_break(lowest: int, highest: int) -> int:
    """A power of two, then the batch beside it: where XLA decides by a size, as by the 4096 rows that one kernel adds
    up (reduction_utils.cc), that is what it compares with. In between, the middle."""
    power = 1 << (highest.bit_length() - 1)
    if lowest <= power:
        return power
    return lowest if _is_power(lowest - 1) else highest if _is_power(highest + 1) else (lowest + highest) // 2


def _is_power(batch: int) -> bool:
    return batch & (batch - 1) == 0


def _drawn_on(one: Anchor, other: Anchor, batch: int) -> float:
    rise = (other.total_bytes - one.total_bytes) / (other.batch - one.batch)
    return one.total_bytes + rise * (batch - one.batch)


def _fits(anchor: Anchor, capacity_bytes: int) -> bool:
    return anchor.total_bytes <= capacity_bytes


def _width(level: Level) -> int:
    return level.high_bytes - level.low_bytes
