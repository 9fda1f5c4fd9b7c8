"""The whole chart: every batch size, precision, GPU count and device, from one trace for each precision.

Between batch sizes that are replayed (powers of two and the steps half-way) memory is a straight line: every buffer
grows in a straight line, and the allocator's overhead hardly changes. The largest batch that fits is solved on those
lines and confirmed by a replay.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.core.replay.memory import Memory, Point

LARGEST_BATCH = 1 << 24


@dataclass(frozen=True, slots=True)
class Level:
    """Memory of one GPU at one batch: in use as expected, with its band."""

    peak_bytes: int
    low_bytes: int
    high_bytes: int


def level_at(point: Point) -> Level:
    return Level(point.in_use_bytes, point.low_bytes, point.high_bytes)


@dataclass(frozen=True, slots=True)
class LargestBatch:
    """The largest per-GPU batch whose expected peak is within a limit; 0 where not even one sample fits.

    Attributes:
        multiple_of_8: The largest multiple of eight that fits, 0 if there is none.
        power_of_2: The largest power of two that fits.
        bound: More than this was not tried: the model's memory does not grow, or hardly.
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


def level(memory: Memory, batch: int) -> Level:
    """Memory at any batch, on the line between the two anchors around it."""
    marks = anchors(batch)
    place = bisect_left(marks, batch)
    right = memory.point(marks[place])
    if marks[place] == batch:
        return level_at(right)
    left = memory.point(marks[place - 1])
    return Level(*(_between(left, right, batch, name) for name in ("in_use_bytes", "low_bytes", "high_bytes")))


def _between(left: Point, right: Point, batch: int, name: str) -> int:
    start, end = getattr(left, name), getattr(right, name)
    return int(start + (end - start) * (batch - left.batch) // (right.batch - left.batch))


def levels(memory: Memory, batches: Iterable[int]) -> list[Level]:
    return [level(memory, batch) for batch in batches]


def per_gpu_batches(setups: Iterable[Setup], devices: Sequence[Device]) -> dict[StepSetup, list[int]]:
    """The traces that a chart needs, each with the batches at which it is asked."""
    wanted: dict[StepSetup, dict[int, None]] = {}
    targets = dict.fromkeys(device.target for device in devices)
    for setup in setups:
        for target in targets:
            wanted.setdefault(setup.step(target), {})[setup.per_gpu_batch] = None
    return {step: list(batches) for step, batches in wanted.items()}


def largest_batch(memory: Memory, limit_bytes: int, *, surely: bool = False) -> LargestBatch:
    """Solved on the lines between anchors, confirmed by replays of the batches next to the solution.

    `surely` asks for the high end of the band to fit, not only for what is expected.
    """

    def need(batch: int) -> int:
        point = memory.point(batch)
        return point.high_bytes if surely else point.in_use_bytes

    if need(1) > limit_bytes:
        return LargestBatch(0, 0, 0)
    fits, above = 1, 2
    while need(above) <= limit_bytes:
        fits, above = above, above * 2
        if above > LARGEST_BATCH:
            return LargestBatch(fits, fits, fits, bound=True)
    while above - fits > 1:
        middle = _crossing(fits, above, (limit_bytes - need(fits)) / max(need(above) - need(fits), 1))
        if need(middle) <= limit_bytes:
            fits = middle
        else:
            above = middle
    eight = fits // 8 * 8
    return LargestBatch(fits, eight, 1 << (fits.bit_length() - 1))


def largest_on_lines(memory: Memory, limit_bytes: int, *, surely: bool = False) -> int:
    """The largest per-GPU batch whose `level` is within a limit, not confirmed by replays; 0 where none is.

    For many limits at once: all of them are solved on the same points.
    """

    def need(batch: int) -> int:
        point = memory.point(batch)
        return point.high_bytes if surely else point.in_use_bytes

    if need(1) > limit_bytes:
        return 0
    below = 1
    while need(2 * below) <= limit_bytes:
        below *= 2
        if below >= LARGEST_BATCH:
            return below
    above = 2 * below
    half_way = below * 3 // 2
    if half_way > below:  # the third anchor of the two
        below, above = (half_way, above) if need(half_way) <= limit_bytes else (below, half_way)
    start, end = need(below), need(above)
    found = below + (limit_bytes - start) * (above - below) // (end - start)
    # `level` rounds down: one more may lie on the limit.
    while found + 1 < above and start + (end - start) * (found + 1 - below) // (above - below) <= limit_bytes:
        found += 1
    return found


def _crossing(below: int, above: int, share: float) -> int:
    """Where a line has gone this share of its way from one batch to another, strictly between them."""
    return min(max(below + round((above - below) * share), below + 1), above - 1)
