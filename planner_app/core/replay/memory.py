"""Memory over the batch, from one trace: what is replayed once serves every batch size."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from planner_app.core.hardware.work import StepWork, step_work
from planner_app.core.model.setup import StepSetup
from planner_app.core.model.trace import StepTrace
from planner_app.core.replay.allocate import AS_LOADED, STARTS, Peak, allocate, live, state_bytes
from planner_app.core.replay.band import (
    BandPart,
    autotuning_part,
    batch_part,
    first_step_part,
    growth_part,
    high_of,
    low_of,
    order_part,
    scratch_part,
    workspace_part,
)
from planner_app.core.replay.fusion import Fusion, narrow_reductions
from planner_app.core.replay.liveness import STEPS, Buffers, folded_values, replay
from planner_app.core.replay.schedule import schedules
from planner_app.core.replay.thread_pool import started_by_threads, thread_pool_order
from planner_app.errors import SetupError

THREADS = 2  # of the pool, as many as the CPU device that is stood in for has
# A run goes on for more steps than orders are tried here. What five ordinary processes of each of 56 cases took beyond
# the orders tried stayed within this share in all but two cases.
ABOVE_ALL_ORDERS = 1.12
BELOW_ALL_ORDERS = 0.97
GPU_ORDERS = 3  # tried beside the expected one
PREALLOCATED_STEPS = 2  # one region for everything: the second step finds it as every later one does
# What the compiler fuses and how it schedules is a model here. Held against 122 programs of 41 models in 13 families
# (tests/accuracy/unseen.py), the compiler's block of temporary memory lay between these shares of the estimated one in
# all but a tenth; a family that has no say in the band lies in it as often.
FUSION_BAND = (0.80, 1.18)
COMMON_BATCH = 32  # the order of a compiled step is worked out once, at a batch that many use


@dataclass(frozen=True, slots=True)
class Point:
    """Memory at one per-GPU batch.

    Attributes:
        live_bytes: Most bytes requested at one moment, scratch not counted.
        in_use_bytes: The allocator's peak, as expected; `low_bytes` and `high_bytes` are its band.
        state_bytes: Alive between steps.
        peak: The moment of the expected peak, in `buffers`.
        xla: The step is compiled by XLA.
        band: What the band is made of: the parts lead from the expected peak to its ends.
        comfortable_bytes: In use when cuDNN gets the workspace of its fastest kernels; it runs with `in_use_bytes`.
    """

    batch: int
    live_bytes: int
    in_use_bytes: int
    low_bytes: int
    high_bytes: int
    state_bytes: int
    peak: Peak
    xla: bool = False
    band: tuple[BandPart, ...] = ()
    comfortable_bytes: int = 0


class Memory:
    """One trace, asked for many batch sizes. Answers are remembered; where they all are, the trace is not asked for.

    Attributes:
        setup: What the trace was made of.
    """

    def __init__(
        self, trace: StepTrace | Callable[[], StepTrace], setup: StepSetup, points: Iterable[Point] = ()
    ) -> None:
        self._given, self.setup = trace, setup
        self._buffers: dict[frozenset[int], Buffers] = {}
        self._programs: dict[frozenset[int], tuple[StepTrace, list[Buffers]]] = {}
        self._points: dict[int, Point] = {point.batch: point for point in points}

    @cached_property
    def trace(self) -> StepTrace:
        """As it is run. Compiled by XLA it is that of a common batch: at others, other results are in memory."""
        return self._fused(COMMON_BATCH)[0] if self._traced.xla else self._traced

    @cached_property
    def _traced(self) -> StepTrace:
        return self._given() if callable(self._given) else self._given

    @cached_property
    def _fusion(self) -> Fusion:
        return Fusion(self._traced)

    def _fused(self, batch: int) -> tuple[StepTrace, list[Buffers]]:
        """The compiled step at this batch, in the orders that the compiler has to choose from."""
        narrow = narrow_reductions(self._traced, batch)
        if narrow not in self._programs:
            trace = self._fusion.fused(narrow)
            orders = schedules(trace, COMMON_BATCH)
            self._programs[narrow] = trace, [replay(trace, frozenset(), order, steps=1) for order in orders]
        return self._programs[narrow]

    @property
    def xla(self) -> bool:
        known = next(iter(self._points.values()), None)
        return self.trace.xla if known is None else known.xla

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(self._points.values())

    @cached_property
    def work(self) -> StepWork:
        """Arithmetic and traffic of the step: what its speed is estimated from."""
        return step_work(self.trace)

    @cached_property
    def _can_fold(self) -> bool:
        return any(value.folded or value.from_batch or value.below_batch for value in self.trace.values)

    def buffers(self, batch: int) -> Buffers:
        if self.xla:
            trace, orders = self._fused(batch)
            return min(orders, key=lambda buffers: live(trace, buffers, batch)[0])
        folded = folded_values(self.trace, batch) if self._can_fold else frozenset()
        if folded not in self._buffers:
            steps = STEPS if self.setup.target == "cpu" else PREALLOCATED_STEPS
            self._buffers[folded] = replay(self.trace, folded, steps=steps)
        return self._buffers[folded]

    def point(self, batch: int) -> Point:
        if batch not in self._points:
            self._check_batch(batch)
            work = self._compiled if self.xla else self._on_cpu if self.setup.target == "cpu" else self._on_gpu
            self._points[batch] = work(batch)
        return self._points[batch]

    def _check_batch(self, batch: int) -> None:
        only = self._traced.only_batch
        if only and batch != only:
            raise SetupError(
                f"The batch size is written into the model: {only}. A batch of {batch} per GPU can't be planned."
            )

    def in_use(self, batch: int) -> list[int] | None:
        """Bytes in use after each move of the last step of `buffers`, in the process that makes the expected peak.

        None for a compiled step: the compiler lays it out, and no allocator hands out chunks in it.
        """
        if self.xla:
            return None
        expected, buffers = self.point(batch).peak, self.buffers(batch)
        growth = self.setup.target == "cpu"
        book: list[int] = []
        for start in STARTS if growth else (AS_LOADED,):
            book.clear()
            if allocate(self.trace, buffers, batch, growth=growth, start=start, book=book) == expected:
                break
        return book

    def _on_cpu(self, batch: int) -> Point:
        """Kernels run in one queue or on a pool of threads, and the pool lies differently in every process."""
        buffers = self.buffers(batch)
        starts = [_peak(allocate(self.trace, buffers, batch, start=start)) for start in STARTS]
        expected = int(median(peak.in_use_bytes for peak in starts))
        lows, highs = (end(peak.in_use_bytes for peak in starts) for end in (min, max))
        others = [peak.in_use_bytes for peak in self._other_orders(batch)]
        low, high = min(lows, *others), max(highs, *others)
        nearest = min(starts, key=lambda peak: abs(peak.in_use_bytes - expected))
        parts = (
            BandPart("regions", expected - lows, highs - expected, "where the pool's regions lie decides ties"),
            BandPart(
                "threads", lows - low, high - highs, "kernels run on a pool of threads, in another order each time"
            ),
            BandPart(
                "orders not tried",
                low - int(low * BELOW_ALL_ORDERS),
                int(high * ABOVE_ALL_ORDERS) - high,
                "a run takes more orders than the replay tries: what measured runs took beyond them",
            ),
        )
        return self._point(batch, buffers, nearest, expected, parts)

    def _other_orders(self, batch: int) -> Iterator[Peak]:
        """As people run it: on the pool's threads, the optimizer's state made just before."""
        folded = folded_values(self.trace, batch)
        for seed, start in enumerate(STARTS):
            order = thread_pool_order(self.trace, batch, THREADS, seed)
            buffers = replay(self.trace, folded, order, steps=2, zeros=seed % 2 == 0)
            yield _peak(allocate(self.trace, buffers, batch, start=start))

    def _compiled(self, batch: int) -> Point:
        """One program: its arguments, and one block of memory in which the compiler has laid out the rest."""
        buffers = self.buffers(batch)
        peak_bytes, move = live(self.trace, buffers, batch)
        state = state_bytes(self.trace, buffers, batch)
        block = peak_bytes - state
        less, more = block - int(block * FUSION_BAND[0]), int(block * FUSION_BAND[1]) - block
        parts = (BandPart("the compiler's choices", less, more, "what XLA fuses, and in which order it runs it"),)
        return self._point(batch, buffers, Peak(peak_bytes, move, peak_bytes), peak_bytes, parts)

    def _on_gpu(self, batch: int) -> Point:
        """Kernels run in the order of one queue, from one region taken at the start."""
        trace, buffers = self.trace, self.buffers(batch)
        book: list[int] = []
        peak = _peak(allocate(trace, buffers, batch, growth=False, book=book))
        workspace = workspace_part(trace, buffers, batch, peak, book)
        comfortable = peak.in_use_bytes + workspace.high_bytes
        parts = (
            workspace,
            autotuning_part(trace, buffers, batch, comfortable, book),
            growth_part(peak, self._slack_in_regions),
            order_part(trace, buffers, batch, self._started_otherwise),
            first_step_part(trace, buffers, batch),
            batch_part(trace, batch, ahead=self.setup.replicated),
            scratch_part(trace, buffers, batch, peak),
        )
        return self._point(batch, buffers, peak, peak.in_use_bytes, parts, comfortable)

    @cached_property
    def _slack_in_regions(self) -> float:
        """What chunks have beyond what is asked for in a pool that grows, as a share of the peak.

        It jumps from batch to batch: that of a common one stands for all.
        """
        batch = self.trace.only_batch or COMMON_BATCH
        buffers = self.buffers(batch)
        whole = _peak(allocate(self.trace, buffers, batch, growth=False)).in_use_bytes
        grown = [_peak(allocate(self.trace, buffers, batch, start=start)).in_use_bytes for start in STARTS]
        return max(0.0, median(grown) / whole - 1)

    @cached_property
    def _started_otherwise(self) -> list[Buffers]:
        """What the executor hands to its threads first comes in another order in every run."""
        orders = (started_by_threads(self.trace, THREADS, seed) for seed in range(GPU_ORDERS))
        return [replay(self.trace, frozenset(), order, steps=1) for order in orders]

    def _point(
        self,
        batch: int,
        buffers: Buffers,
        peak: Peak,
        expected: int,
        parts: tuple[BandPart, ...],
        comfortable: int = 0,
    ) -> Point:
        return Point(
            batch=batch,
            live_bytes=live(self.trace, buffers, batch)[0],
            in_use_bytes=expected,
            low_bytes=low_of(expected, parts),
            high_bytes=high_of(expected, parts),
            state_bytes=state_bytes(self.trace, buffers, batch),
            peak=peak,
            xla=self.trace.xla,
            band=tuple(part for part in parts if part.low_bytes or part.high_bytes),
            comfortable_bytes=comfortable or expected,
        )


def _peak(peak: Peak | None) -> Peak:
    if peak is None:
        raise SetupError("One step would take more bytes than can be counted: use a smaller batch.")
    return peak
