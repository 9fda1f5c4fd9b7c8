"""Memory over the batch, from one trace: what is replayed once serves every batch size."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from planner_app.core.model.setup import Precision, StepSetup
from planner_app.core.model.trace import StepTrace
from planner_app.core.replay.allocate import AS_LOADED, INITIALIZED, STARTS, Peak, allocate, live, state_bytes
from planner_app.core.replay.band import (
    BandPart,
    autotuning_part,
    batch_part,
    first_step_part,
    fragmentation_part,
    growth_part,
    high_of,
    late_part,
    low_of,
    order_part,
    scratch_part,
    workspace_part,
)
from planner_app.core.replay.fusion import Fusion, narrow_reductions
from planner_app.core.replay.liveness import STEPS, Buffers, folded_values, replay, replay_process
from planner_app.core.replay.schedule import late_schedules, schedules
from planner_app.core.replay.thread_pool import one_queue_order, thread_pool_order
from planner_app.errors import SetupError

THREADS = 2  # of the pool, as many as the CPU device that is stood in for has
# Processes of some steps each, every step in another order. What five ordinary processes of each of 55 cases took
# beyond the highest of these stayed within the share above in 54.
PROCESSES = 6
PROCESS_STEPS = 4
ABOVE_ALL_ORDERS = 1.07
BELOW_ALL_ORDERS = 0.97
# Small tensors that Keras and TensorFlow keep around a step (scalars, counters, constants of its functions), in chunks
# of 256 bytes each: what `fit` of the gallery's smallest models took beyond their band, and below it.
AROUND_BYTES = (8 << 10, 48 << 10)
GPU_ORDERS = 3  # tried beside the expected one
PREALLOCATED_STEPS = 2  # one region for everything: the second step finds it as every later one does
# What the compiler fuses and how it schedules is a model here. Held against 242 programs of 68 models in 26 families
# (tests/accuracy/unseen.py), the compiler's block of temporary memory lay between 0.73 and 1.22 of the estimated one in
# all but a tenth; nine of the families were compiled after every rule was made.
FUSION_BAND = (0.73, 1.22)
# Above it, a few buffers more (a library's workspace, a copy into another layout), which outweigh the rest in a small
# program: with this no program of those was more than 15 % above the estimate and outside the band of other families.
FEW_BUFFERS_BYTES = 16 << 20
# Convolutions that add to what they compute: seen in float32; a WaveNet in bfloat16 takes what it would take without.
WITH_SIDE_INPUTS = (Precision.FLOAT32, Precision.FLOAT64)
COMMON_BATCH = 32  # the order of a compiled step is worked out once, at a batch that many use

if TYPE_CHECKING:
    from planner_app.core.hardware.work import StepWork


@dataclass(frozen=True, slots=True)
class Point:
    """Memory at one per-GPU batch.

    Attributes:
        live_bytes: Most bytes requested at one moment, scratch not counted.
        in_use_bytes: The allocator's peak, as expected; `low_bytes` and `high_bytes` are its band.
        state_bytes: Alive between steps.
        peak: The moment of the peak, in `buffers`.
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
        growth: The allocator's pool grows by regions, as the CPU's does; else it is one region from the start.
    """

    def __init__(
        self,
        trace: StepTrace | Callable[[], StepTrace],
        setup: StepSetup,
        points: Iterable[Point] = (),
        *,
        one_region: bool = False,
    ) -> None:
        self._given, self.setup = trace, setup
        self.growth = setup.target == "cpu" and not one_region
        self._buffers: dict[frozenset[int], Buffers] = {}
        self._programs: dict[tuple[frozenset[int], frozenset[int]], _Compiled] = {}
        self._points: dict[int, Point] = {point.batch: point for point in points}

    @cached_property
    def in_one_region(self) -> "Memory":
        """The same step where the allocator takes its whole limit at once."""
        return Memory(lambda: self._traced, self.setup, one_region=True)

    @cached_property
    def trace(self) -> StepTrace:
        """As it is run. Compiled by XLA it is that of a common batch; `trace_at` is that of any."""
        return self._fused(COMMON_BATCH).trace if self._traced.xla else self._traced

    def trace_at(self, batch: int) -> StepTrace:
        """The step that `buffers` of this batch is of."""
        if self.xla:
            return self._fused(batch).trace
        return self._small.trace if self._is_small(batch) else self.trace

    def _is_small(self, batch: int) -> bool:
        return batch <= self._traced.small_up_to

    @cached_property
    def _small(self) -> "Memory":
        """Of small batches, which run another graph."""
        assert self._traced.small is not None
        return Memory(self._traced.small, self.setup, one_region=not self.growth)

    @cached_property
    def _traced(self) -> StepTrace:
        return self._given() if callable(self._given) else self._given

    @cached_property
    def _fusion(self) -> Fusion:
        return Fusion(self._traced, side_inputs=self.setup.precision in WITH_SIDE_INPUTS)

    def _fused(self, batch: int) -> "_Compiled":
        """The compiled step at this batch."""
        narrow = narrow_reductions(self._traced, batch)
        absent = frozenset(n for n, value in enumerate(self._traced.values) if not value.made_at(batch))
        key = narrow, absent
        if key not in self._programs:
            trace = self._fusion.fused(narrow)
            orders, late = (
                [replay(trace, absent, order, steps=1) for order in found(trace, COMMON_BATCH)]
                for found in (schedules, late_schedules)
            )
            self._programs[key] = _Compiled(trace, orders, late)
        return self._programs[key]

    @property
    def xla(self) -> bool:
        known = self.points  # a copy: another thread may be adding points
        return known[0].xla if known else self.trace.xla

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(self._points.values())

    def forget(self) -> None:
        """Drop the points: they are of another trace."""
        self._points.clear()

    @cached_property
    def work(self) -> "StepWork":
        """Arithmetic and traffic of the step: what its speed is estimated from."""
        from planner_app.core.hardware.work import step_work  # NumPy, which the sandbox must come before

        return step_work(self.trace)

    @cached_property
    def _can_fold(self) -> bool:
        return any(value.folded or value.from_batch or value.below_batch for value in self.trace.values)

    def buffers(self, batch: int) -> Buffers:
        if self.xla:
            compiled = self._fused(batch)
            return _best(compiled.trace, compiled.orders, batch)
        if self._is_small(batch):
            return self._small.buffers(batch)
        folded = folded_values(self.trace, batch) if self._can_fold else frozenset()
        if folded not in self._buffers:
            steps = STEPS if self.setup.target == "cpu" else PREALLOCATED_STEPS
            self._buffers[folded] = replay(self.trace, folded, steps=steps)
        return self._buffers[folded]

    def point(self, batch: int) -> Point:
        if batch not in self._points:
            self._check_batch(batch)
            if self._is_small(batch):
                self._points[batch] = self._small.point(batch)
                return self._points[batch]
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
        """Bytes in use after each move of the last step of `buffers`, in the process that is nearest to the expected
        peak from below; what is missing to it lies between chunks, all the time.

        None for a compiled step: the compiler lays it out, and no allocator hands out chunks in it.
        """
        if self.xla:
            return None
        if self._is_small(batch):
            return self._small.in_use(batch)
        point, buffers = self.point(batch), self.buffers(batch)
        book: list[int] = []
        for start in STARTS if self.growth else (AS_LOADED,):
            book.clear()
            if allocate(self.trace, buffers, batch, growth=self.growth, start=start, book=book) == point.peak:
                break
        return [level + point.in_use_bytes - point.peak.in_use_bytes for level in book]

    def _on_cpu(self, batch: int) -> Point:
        """Kernels run in one queue or on a pool of threads, and the pool lies differently in every process."""
        buffers = self.buffers(batch)
        ways = STARTS if self.growth else (AS_LOADED,)
        starts = [_peak(allocate(self.trace, buffers, batch, growth=self.growth, start=start)) for start in ways]
        # Where variables come to lie is chance, and the pool then stays so for all steps: the middle is least far off.
        lows, highs = (end(peak.highest_bytes for peak in starts) for end in (min, max))
        expected = (lows + highs) // 2
        others = [peak.highest_bytes for peak in self._processes(batch)]
        low, high = min(lows, *others), max(highs, *others)
        shown = max((peak for peak in starts if peak.in_use_bytes <= expected), key=lambda peak: peak.in_use_bytes)
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
            BandPart("around the step", *AROUND_BYTES, "small tensors that Keras and TensorFlow keep beside it"),
        )
        return self._point(batch, buffers, shown, expected, parts)

    def _processes(self, batch: int) -> Iterator[Peak]:
        """As people run it: Keras makes the variables, and each step takes another order on the pool's threads."""
        folded = folded_values(self.trace, batch)
        for process in range(PROCESSES):
            last_first = process // 2 % 2 == 1
            orders = [
                thread_pool_order(self.trace, batch, THREADS, process * PROCESS_STEPS + step, last_first=last_first)
                for step in range(PROCESS_STEPS)
            ]
            buffers = replay_process(self.trace, folded, orders, zeros=process % 2 == 0)
            yield _peak(allocate(self.trace, buffers, batch, growth=self.growth, start=INITIALIZED))

    def _compiled(self, batch: int) -> Point:
        """One program: its arguments, and one block of memory in which the compiler has laid out the rest."""
        buffers = self.buffers(batch)
        peak_bytes, move = live(self.trace, buffers, batch)
        state = state_bytes(self.trace, buffers, batch)
        block = peak_bytes - state
        less, more = block - int(block * FUSION_BAND[0]), int(block * FUSION_BAND[1]) - block + FEW_BUFFERS_BYTES
        parts = (
            BandPart("the compiler's choices", less, more, "what XLA fuses, and in which order it runs it"),
            late_part(int(self._late(batch, peak_bytes) * FUSION_BAND[1])),
        )
        return self._point(batch, buffers, Peak(peak_bytes, move, peak_bytes), peak_bytes, parts)

    def _late(self, batch: int, peak_bytes: int) -> int:
        """How much more the step takes with gradients of filters at the end."""
        compiled = self._fused(batch)
        if not compiled.late:
            return 0
        late = live(compiled.trace, _best(compiled.trace, compiled.late, batch), batch)[0]
        return max(0, late - peak_bytes)

    def _on_gpu(self, batch: int) -> Point:
        """Kernels run in the order of one queue, from one region taken at the start."""
        trace, buffers = self.trace, self.buffers(batch)
        book: list[int] = []
        peak = _peak(allocate(trace, buffers, batch, growth=False, book=book))
        workspace = workspace_part(trace, buffers, batch, peak, book)
        comfortable = peak.in_use_bytes + workspace.high_bytes
        holes = fragmentation_part(peak)
        parts = (
            workspace,
            autotuning_part(trace, buffers, batch, comfortable, book),
            holes,
            growth_part(peak, self._slack_in_regions, holes.high_bytes),
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
        trace, buffers = self.trace_at(batch), self.buffers(batch)
        whole = _peak(allocate(trace, buffers, batch, growth=False)).in_use_bytes
        grown = [_peak(allocate(trace, buffers, batch, start=start)).in_use_bytes for start in STARTS]
        return max(0.0, median(grown) / whole - 1)

    @cached_property
    def _started_otherwise(self) -> list[Buffers]:
        """What the executor starts first comes in another order in every process."""
        orders = (one_queue_order(self.trace, seed) for seed in range(GPU_ORDERS))
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


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A compiled step, in the orders that the compiler has to choose from.

    Attributes:
        late: With gradients of filters in three dimensions at the end; empty where there are none.
    """

    trace: StepTrace
    orders: list[Buffers]
    late: list[Buffers]


def _best(trace: StepTrace, orders: Iterable[Buffers], batch: int) -> Buffers:
    return min(orders, key=lambda buffers: live(trace, buffers, batch)[0])


def _peak(peak: Peak | None) -> Peak:
    if peak is None:
        raise SetupError("One step would take more bytes than can be counted: use a smaller batch.")
    return peak
