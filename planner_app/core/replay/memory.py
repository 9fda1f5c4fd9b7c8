"""Memory over the batch, from one trace: what is replayed once serves every batch size."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from planner_app.core.hardware.work import StepWork, step_work
from planner_app.core.model.setup import StepSetup
from planner_app.core.model.trace import StepTrace
from planner_app.core.replay.allocate import AS_LOADED, STARTS, Peak, allocate, live, state_bytes
from planner_app.core.replay.fusion import Fusion, narrow_reductions
from planner_app.core.replay.liveness import STEPS, Buffers, folded_values, replay
from planner_app.core.replay.schedule import schedules
from planner_app.core.replay.thread_pool import thread_pool_order
from planner_app.errors import SetupError

THREADS = 2  # of the pool, as many as the CPU device that is stood in for has
# A run goes on for more steps than orders are tried here. What five ordinary processes of each of 56 cases took beyond
# the orders tried stayed within this share in all but two cases.
ABOVE_ALL_ORDERS = 1.12
BELOW_ALL_ORDERS = 0.97
# Convolutions that cuDNN runs with a workspace of its choice, up to TF_CUDNN_WORKSPACE_LIMIT_IN_MB (8 GiB by default).
CONVOLUTIONS = frozenset(
    "Conv2D _FusedConv2D Conv2DBackpropInput Conv2DBackpropFilter Conv3D Conv3DBackpropInputV2 "
    "Conv3DBackpropFilterV2".split()
)
WORKSPACE_LIMIT_BYTES = 8 << 30
PREALLOCATED_STEPS = 2  # one region for everything: the second step finds it as every later one does
# What the compiler fuses and how it schedules is a model here. Held against 21 programs compiled for an H100, its block
# of temporary memory was 9 % too small to 21 % too large.
FUSION_BAND = (0.82, 1.15)
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
    """

    batch: int
    live_bytes: int
    in_use_bytes: int
    low_bytes: int
    high_bytes: int
    state_bytes: int
    peak: Peak
    xla: bool = False


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
        others = [peak.in_use_bytes for peak in (*starts, *self._other_orders(batch))]
        nearest = min(starts, key=lambda peak: abs(peak.in_use_bytes - expected))
        low, high = int(min(others) * BELOW_ALL_ORDERS), int(max(others) * ABOVE_ALL_ORDERS)
        return self._point(batch, buffers, nearest, expected, low, high)

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
        low, high = state + int(block * FUSION_BAND[0]), state + int(block * FUSION_BAND[1])
        return self._point(batch, buffers, Peak(peak_bytes, move, peak_bytes), peak_bytes, low, high)

    def _on_gpu(self, batch: int) -> Point:
        """Kernels run in the order of one queue, from one region taken at the start."""
        buffers = self.buffers(batch)
        peak = _peak(allocate(self.trace, buffers, batch, growth=False))
        high = peak.in_use_bytes + workspace_bytes(self.trace, batch)
        return self._point(batch, buffers, peak, peak.in_use_bytes, peak.in_use_bytes, high)

    def _point(self, batch: int, buffers: Buffers, peak: Peak, expected: int, low: int, high: int) -> Point:
        return Point(
            batch=batch,
            live_bytes=live(self.trace, buffers, batch)[0],
            in_use_bytes=expected,
            low_bytes=min(low, expected),
            high_bytes=max(high, expected),
            state_bytes=state_bytes(self.trace, buffers, batch),
            peak=peak,
            xla=self.trace.xla,
        )


def workspace_bytes(trace: StepTrace, batch: int) -> int:
    """The most that cuDNN is likely to want beside a convolution. It is elastic: refused, a slower kernel is taken.

    Which kernel the autotuner picks can't be known beforehand (conv_ops_gpu.cc tries them on the device). Transforms
    of input and output, as the Winograd and FFT kernels make them, take about what input and output take.
    """
    most = 0
    for operation in trace.operations:
        if trace.sources[operation.source].type in CONVOLUTIONS:
            touched = (*operation.reads, *operation.makes)
            most = max(most, sum(trace.sizes[_base(trace, value)].at(batch) for value in touched))
    return min(most, WORKSPACE_LIMIT_BYTES)


def _base(trace: StepTrace, value: int) -> int:
    """The size of the buffer behind a value."""
    while trace.values[value].alias >= 0:
        value = trace.values[value].alias
    return trace.values[value].size


def _peak(peak: Peak | None) -> Peak:
    if peak is None:
        raise SetupError("One step would take more bytes than can be counted: use a smaller batch.")
    return peak
