"""Memory over the batch, from one trace: what is replayed once serves every batch size."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from planner_app.core.allocate import STARTS, Peak, allocate, live, state_bytes
from planner_app.core.executor import thread_pool_order
from planner_app.core.liveness import Buffers, folded_values, replay
from planner_app.core.setup import StepSetup
from planner_app.core.trace import StepTrace

# Two threads of the pool, and the caller's own that helps out.
THREADS = (2, 3)
SEEDS = range(4)
# Runs go on for more steps than orders are tried here: what was measured beyond them stayed within this share.
ORDER_MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Point:
    """Memory at one per-GPU batch.

    Attributes:
        live_bytes: Most bytes requested at one moment, scratch not counted.
        in_use_bytes: The allocator's peak, as expected; `low_bytes` and `high_bytes` are its band.
        state_bytes: Alive between steps.
        peak: The moment of the expected peak, in `buffers`.
    """

    batch: int
    live_bytes: int
    in_use_bytes: int
    low_bytes: int
    high_bytes: int
    state_bytes: int
    peak: Peak


class Memory:
    """One trace, asked for many batch sizes. Answers are remembered."""

    def __init__(self, trace: StepTrace, setup: StepSetup, points: Iterable[Point] = ()) -> None:
        self.trace, self.setup = trace, setup
        self._buffers: dict[frozenset[int], Buffers] = {}
        self._points: dict[int, Point] = {point.batch: point for point in points}

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(self._points.values())

    @cached_property
    def _can_fold(self) -> bool:
        return any(value.folded for value in self.trace.values)

    def buffers(self, batch: int) -> Buffers:
        folded = folded_values(self.trace, batch) if self._can_fold else frozenset()
        if folded not in self._buffers:
            self._buffers[folded] = replay(self.trace, folded)
        return self._buffers[folded]

    def point(self, batch: int) -> Point:
        if batch not in self._points:
            self._points[batch] = self._on_cpu(batch) if self.setup.target == "cpu" else self._on_gpu(batch)
        return self._points[batch]

    def _on_cpu(self, batch: int) -> Point:
        """Kernels run in one queue or on a pool of threads, and the pool lies differently in every process."""
        buffers = self.buffers(batch)
        starts = [_peak(allocate(self.trace, buffers, batch, start=start)) for start in STARTS]
        expected = int(median(peak.in_use_bytes for peak in starts))
        others = [peak.in_use_bytes for peak in (*starts, *self._other_orders(batch))]
        nearest = min(starts, key=lambda peak: abs(peak.in_use_bytes - expected))
        high = int(max(others) * (1 + ORDER_MARGIN))
        return self._point(batch, buffers, nearest, expected, min(others), high)

    def _other_orders(self, batch: int) -> Iterator[Peak]:
        folded = folded_values(self.trace, batch)
        for threads in THREADS:
            for seed in SEEDS:
                order = thread_pool_order(self.trace, batch, threads, seed)
                yield _peak(allocate(self.trace, replay(self.trace, folded, order, steps=2), batch))

    def _on_gpu(self, batch: int) -> Point:
        """Kernels run in the order of one queue, from one region taken at the start."""
        buffers = self.buffers(batch)
        peak = _peak(allocate(self.trace, buffers, batch, growth=False))
        return self._point(batch, buffers, peak, peak.in_use_bytes, peak.in_use_bytes, peak.in_use_bytes)

    def _point(self, batch: int, buffers: Buffers, peak: Peak, expected: int, low: int, high: int) -> Point:
        return Point(
            batch=batch,
            live_bytes=live(self.trace, buffers, batch)[0],
            in_use_bytes=expected,
            low_bytes=min(low, expected),
            high_bytes=max(high, expected),
            state_bytes=state_bytes(self.trace, buffers, batch),
            peak=peak,
        )


def _peak(peak: Peak | None) -> Peak:
    if peak is None:
        raise AssertionError("An allocator without a limit ran out of memory.")
    return peak
