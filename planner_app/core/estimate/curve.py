"""Memory over the batch, between the batches that are replayed.

Between anchors (powers of two and the steps half-way) memory is a straight line: every buffer grows in a straight line,
and the allocator's overhead hardly changes. The largest batch that fits is solved and then confirmed by replays.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from planner_app.core.estimate.level import Level, between
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup, StepSetup

LARGEST_BATCH = 1 << 24

LevelAt = Callable[[int], Level]


@dataclass(frozen=True, slots=True)
class LargestBatch:
    """The largest per-GPU batch within a capacity; 0 if not even one sample fits.

    Attributes:
        multiple_of_8: The largest multiple of eight that fits, 0 if there is none.
        power_of_2: The largest power of two that fits.
        bound: Larger batches were not tried, because memory hardly grows.
    """

    batch: int
    multiple_of_8: int
    power_of_2: int
    bound: bool = False


@cache
def anchors(largest: int) -> tuple[int, ...]:
    """1, 2, 3, 4, 6, 8, 12 ... up to the first that is not below `largest`."""
    found = [1]
    while found[-1] < largest:
        power = 1 << (found[-1].bit_length() - 1)
        found.append(power * 2 if found[-1] > power or power == 1 else power * 3 // 2)
    return tuple(found)


def on_line(level: LevelAt, batch: int) -> Level:
    """Memory at any batch, on the line between the two anchors around it."""
    marks = anchors(batch)
    place = bisect_left(marks, batch)
    right = level(marks[place])
    if marks[place] == batch:
        return right
    left = level(marks[place - 1])
    way, of = batch - marks[place - 1], marks[place] - marks[place - 1]
    peak, low, high = (
        start + (end - start) * way // of
        for start, end in (
            (left.peak_bytes, right.peak_bytes),
            (left.low_bytes, right.low_bytes),
            (left.high_bytes, right.high_bytes),
        )
    )
    return Level(peak, low, high, between(left.source, right.source))


def per_gpu_batches(setups: Iterable[Setup], devices: Sequence[Device]) -> dict[StepSetup, list[int]]:
    """The traces that a chart needs, each with its batches."""
    wanted: dict[StepSetup, dict[int, None]] = {}
    targets = dict.fromkeys(device.target for device in devices)
    for setup in setups:
        for target in targets:
            wanted.setdefault(setup.step(target), {})[setup.per_gpu_batch] = None
    return {step: list(batches) for step, batches in wanted.items()}


def largest_within(level: LevelAt, capacity_bytes: int, *, sure: bool = False) -> LargestBatch:
    """Solved on the lines between anchors, confirmed by the batches next to the solution.

    With `sure` the high end of the band must fit, not just the expected peak.
    """

    def need(batch: int) -> int:
        return level(batch).high_bytes if sure else level(batch).peak_bytes

    if need(1) > capacity_bytes:
        return LargestBatch(0, 0, 0)
    fits, above = 1, 2
    while need(above) <= capacity_bytes:
        fits, above = above, above * 2
        if above > LARGEST_BATCH:
            return LargestBatch(fits, fits, fits, bound=True)
    while above - fits > 1:
        middle = _crossing(fits, above, (capacity_bytes - need(fits)) / max(need(above) - need(fits), 1))
        if need(middle) <= capacity_bytes:
            fits = middle
        else:
            above = middle
    return rounded(fits)


def rounded(batch: int) -> LargestBatch:
    """A largest batch and the round numbers below it."""
    return LargestBatch(batch, batch // 8 * 8, 1 << (batch.bit_length() - 1) if batch else 0)


def largest_on_lines(level: LevelAt, capacity_bytes: int, *, sure: bool = False) -> int:
    """The largest per-GPU batch within a capacity, from the lines alone and not confirmed; 0 if there is none.

    For many capacities at once: all of them are solved on the same points.
    """

    def need(batch: int) -> int:
        return level(batch).high_bytes if sure else level(batch).peak_bytes

    if need(1) > capacity_bytes:
        return 0
    below = 1
    while need(2 * below) <= capacity_bytes:
        below *= 2
        if below >= LARGEST_BATCH:
            return below
    above = 2 * below
    half_way = below * 3 // 2
    if half_way > below:  # the third anchor of the two
        below, above = (half_way, above) if need(half_way) <= capacity_bytes else (below, half_way)
    start, end = need(below), need(above)
    found = below + (capacity_bytes - start) * (above - below) // (end - start)
    # The line rounds down: one more may lie on the capacity.
    while found + 1 < above and start + (end - start) * (found + 1 - below) // (above - below) <= capacity_bytes:
        found += 1
    return found


def _crossing(below: int, above: int, share: float) -> int:
    """The batch at this share of the way from one batch to another, strictly between them."""
    return min(max(below + round((above - below) * share), below + 1), above - 1)
