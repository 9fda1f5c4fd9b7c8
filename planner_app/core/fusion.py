"""The same step compiled by XLA: chains of elementwise operations become one kernel and their links take no memory.

A model of XLA's GPU pipeline, not the compiler: which results stay in memory is decided by the rules of its fusion
passes (instruction_fusion.cc, gpu/transforms/priority_fusion.cc), the order by the best of two schedules, as its
memory scheduler does. The compile check is the truth this is held against.
"""

from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from planner_app.core.trace import Access, Operation, StepTrace

# Library calls and kernels of their own: what they read and write is in memory.
OPAQUE = frozenset(
    "Conv2D Conv3D Conv2DBackpropInput Conv2DBackpropFilter Conv3DBackpropInputV2 Conv3DBackpropFilterV2 "
    "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput DepthwiseConv2dNativeBackpropFilter _FusedConv2D "
    "MatMul _FusedMatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum MaxPool MaxPoolGrad AvgPool AvgPoolGrad "
    "MaxPool3D MaxPool3DGrad AvgPool3D AvgPool3DGrad GatherV2 ResourceGather UnsortedSegmentSum ScatterNd "
    "TensorScatterUpdate TensorScatterAdd Unique Where TopKV2 Cumsum Cumprod CollectiveReduceV2 ConcatV2 Qr Svd "
    "MatrixInverse FFT IFFT RFFT IRFFT ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor "
    "ResizeNearestNeighborGrad TensorListStack TensorListFromTensor XlaDynamicUpdateSlice "
    "ResourceScatterAdd ResourceScatterSub".split()
)
# Reductions take in what they read and leave their own result in memory; a softmax is two of them.
REDUCING = frozenset("Sum Mean Max Min Prod All Any ArgMax ArgMin BiasAddGrad L2Loss Softmax LogSoftmax".split())
# gpu_fusible.cc IsExpensiveToRepeat / hlo_opcode cost: computed once, so kept when several kernels want them.
EXPENSIVE = frozenset(
    "Exp Expm1 Log Log1p Tanh Sigmoid Erf Erfc Pow Sqrt Rsqrt RealDiv Div DivNoNan Sin Cos Tan Atan2 Softplus "
    "StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessRandomUniformFullIntV2 FloorMod".split()
)


MOST_SOURCES = 16  # a kernel that would read more than this from memory is cut in two


def fused(trace: StepTrace) -> StepTrace:
    """The trace with only those values in memory that XLA keeps; operations that are fused away are gone.

    Variables are updated where they lie: their buffers are given to the program and taken back. Other results get a
    buffer of their own: the compiler shares one only between equal shapes and layouts, which at the peak of real
    programs was hardly ever seen.
    """
    readers = _reader_types(trace)
    sources: list[tuple[int, ...]] = [()] * len(trace.values)
    values = list(trace.values)
    operations: list[Operation] = []
    for operation in trace.operations:
        kind = trace.sources[operation.source].type
        reads = tuple(dict.fromkeys(source for read in operation.reads for source in sources[read]))
        makes = []
        for made in operation.makes:
            value = trace.values[made]
            if operation.access is Access.READ or value.folded:
                continue  # a parameter or a constant: in memory all the time
            if value.alias >= 0:
                sources[made] = sources[value.alias]
            elif value.scratch and not readers[made] and kind not in OPAQUE:
                continue
            elif _is_kept(kind, readers[made], reads):
                values[made] = replace(value, alias=-1, forward=(), holds=(), scratch=False)
                sources[made] = (made,)
                makes.append(made)
            else:
                sources[made] = reads
        if makes or operation.access in _WRITES:
            operations.append(replace(operation, reads=reads, makes=tuple(makes), access=Access.NONE, then=(), waits=0))
    return _linked(replace(trace, operations=tuple(operations), values=tuple(values)))


_WRITES = (Access.REPLACE, Access.UPDATE, Access.TOUCH)


def _is_kept(kind: str, readers: list[str], reads: tuple[int, ...]) -> bool:
    if kind in OPAQUE or kind in REDUCING:
        return True
    if any(reader in OPAQUE for reader in readers):
        return True
    return (kind in EXPENSIVE and len(readers) > 1) or len(reads) > MOST_SOURCES


def _reader_types(trace: StepTrace) -> list[list[str]]:
    """For each value the types of the operations that read it, through whatever only renames it."""
    readers: list[list[str]] = [[] for _ in trace.values]
    for operation in trace.operations:
        kind = trace.sources[operation.source].type
        if all(trace.values[made].alias >= 0 for made in operation.makes) and operation.makes:
            continue
        for read in operation.reads:
            readers[read].append(kind)
    for number in range(len(trace.values) - 1, -1, -1):
        alias = trace.values[number].alias
        if alias >= 0:
            readers[alias].extend(readers[number])
    return readers


def _linked(trace: StepTrace) -> StepTrace:
    """Operations with their edges anew: who reads waits for who makes."""
    maker = {made: number for number, operation in enumerate(trace.operations) for made in operation.makes}
    then: list[list[int]] = [[] for _ in trace.operations]
    waits = [0] * len(trace.operations)
    for number, operation in enumerate(trace.operations):
        for before in {maker[read] for read in operation.reads}:
            then[before].append(number)
            waits[number] += 1
    return replace(
        trace,
        operations=tuple(
            replace(operation, then=tuple(then[number]), waits=waits[number])
            for number, operation in enumerate(trace.operations)
        ),
    )


def schedules(trace: StepTrace, batch: int) -> tuple[list[int], ...]:
    """Orders to choose the best from (hlo_memory_scheduler.cc): as ready, as written, and what frees most first."""
    count = len(trace.operations)
    written = sorted(range(count), key=lambda number: trace.operations[number].source)
    orders = [range(count), written, _greedy(trace, batch)]
    return tuple(_as_schedule(order) for order in orders if _can_run(trace, order))


def _can_run(trace: StepTrace, order: Sequence[int]) -> bool:
    """As written, an operation of an unrolled loop comes for all rounds at once, before what its later rounds read."""
    at = [0] * len(order)
    for place, number in enumerate(order):
        at[number] = place
    return all(at[number] < at[then] for number, operation in enumerate(trace.operations) for then in operation.then)


def _as_schedule(order: Sequence[int]) -> list[int]:
    return [entry for number in order for entry in (number, ~number)]


def _greedy(trace: StepTrace, batch: int) -> list[int]:
    """ListScheduler: of all that is ready, what frees most memory and takes least comes next."""
    sizes = [size.at(batch) for size in trace.sizes]
    left = [0] * len(trace.values)
    for operation in trace.operations:
        for read in set(operation.reads):
            left[read] += 1
    waiting_for: dict[int, list[int]] = {}
    for number, operation in enumerate(trace.operations):
        for read in set(operation.reads):
            waiting_for.setdefault(read, []).append(number)
    waits = [operation.waits for operation in trace.operations]
    done = [False] * len(trace.operations)

    def gain(number: int) -> int:
        operation = trace.operations[number]
        freed = sum(sizes[trace.values[read].size] for read in set(operation.reads) if left[read] == 1)
        return freed - sum(sizes[trace.values[made].size] for made in operation.makes)

    ready = [(-gain(number), number) for number, count in enumerate(waits) if not count]
    heapify(ready)
    order = []
    while ready:
        _, number = heappop(ready)
        if done[number]:
            continue
        done[number] = True
        order.append(number)
        operation = trace.operations[number]
        for read in set(operation.reads):
            left[read] -= 1
            if left[read] == 1:  # whoever is last now frees it
                for other in waiting_for[read]:
                    if not done[other] and not waits[other]:
                        heappush(ready, (-gain(other), other))
        for then in operation.then:
            waits[then] -= 1
            if not waits[then]:
                heappush(ready, (-gain(then), then))
    return order
