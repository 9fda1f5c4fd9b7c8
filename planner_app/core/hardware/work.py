"""What a training step has to do: arithmetic, and bytes moved between a GPU's memory and its units.

Multiplications of matrices and convolutions are looked at one by one, since some of them wait for arithmetic and some
for memory. All other kernels do so little with each byte that they only ever wait for memory.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from planner_app.core.model.trace import Access, Operation, Phase, Role, Size, StepTrace

CONVOLVING = frozenset(
    "Conv2D _FusedConv2D Conv3D _FusedConv3D Conv2DBackpropInput Conv2DBackpropFilter Conv3DBackpropInputV2 "
    "Conv3DBackpropFilterV2".split()
)
MATRIX = frozenset("MatMul _FusedMatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum".split())
MULTIPLYING = CONVOLVING | MATRIX
# One filter for each channel: multiply-adds like the others, but nothing that tensor cores could do.
DEPTHWISE = frozenset(
    "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput DepthwiseConv2dNativeBackpropFilter".split()
)
# These only look at shapes, or run on the host: no kernel starts and no tensor is read.
NO_KERNEL = frozenset(
    "Shape ShapeN Size Rank BroadcastGradientArgs VarHandleOp ReadVariableOp Const NoOp Identity IdentityN Reshape "
    "ExpandDims Squeeze StopGradient PreventGradient Placeholder ConcatOffset".split()
)
# Statistics come first, then what they are applied to: the same tensors are read twice.
READING_TWICE = frozenset(
    "FusedBatchNormV2 FusedBatchNormGradV2 FusedBatchNormV3 FusedBatchNormGradV3 Softmax LogSoftmax".split()
)
# These read only as much as they write.
PICKING = frozenset("Slice StridedSlice GatherV2 Gather GatherNd ResourceGather TensorListGetItem".split())
COLLECTIVE = "CollectiveReduceV2"


class Kind(StrEnum):
    """What a kernel does, as far as GPUs are differently good at it."""

    CONVOLUTION = "convolution"
    MATRIX = "matrix"
    DEPTHWISE = "depthwise"


@dataclass(frozen=True, slots=True)
class Multiplication:
    """`count` identical kernels, each with this arithmetic (two for a multiply-add) and traffic."""

    flops: Size
    moved: Size
    count: int
    kind: Kind = Kind.MATRIX


Figures = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Load:
    """All multiplications of a step at one batch: an element for each kind of kernel.

    Attributes:
        raised: What follows from their intensity alone, kept for the next device (achieved.py).
    """

    flops: Figures
    moved: Figures
    count: Figures
    convolves: NDArray[np.bool_]
    depthwise: NDArray[np.bool_]
    rest_bytes: float
    raised: dict[tuple[float, int], Figures] = field(default_factory=dict, compare=False, repr=False)

    @property
    def intensity(self) -> Figures:
        """Operations for each byte that is read or written."""
        return self.flops / np.maximum(self.moved, 1.0)


@dataclass(frozen=True, slots=True)
class StepWork:
    """One step of one GPU. Sizes are over the per-GPU batch.

    Attributes:
        forward: Arithmetic of the forward pass's multiplications alone, depthwise ones included: what papers give, in
            multiply-adds, as a model's cost.
        moved: Bytes that all other kernels read and write.
        kernels: How many kernels are started.
        gradient_bytes: What is summed over GPUs.
    """

    multiplications: tuple[Multiplication, ...]
    forward: Size
    moved: Size
    kernels: int
    gradient_bytes: int
    _loads: dict[int, Load] = field(default_factory=dict, compare=False, repr=False)

    def load(self, batch: int) -> Load:
        """Worked out once for each batch: many devices are asked about the same."""
        if batch not in self._loads:
            each = self.multiplications
            self._loads[batch] = Load(
                flops=np.array([one.flops.at(batch) for one in each], float),
                moved=np.array([one.moved.at(batch) for one in each], float),
                count=np.array([one.count for one in each], float),
                convolves=np.array([one.kind is Kind.CONVOLUTION for one in each], bool),
                depthwise=np.array([one.kind is Kind.DEPTHWISE for one in each], bool),
                rest_bytes=float(self.moved.at(batch)),
            )
        return self._loads[batch]

    def flops(self, batch: int) -> int:
        """Of the forward and backward pass, without what tensor cores can't do."""
        return sum(
            each.flops.at(batch) * each.count for each in self.multiplications if each.kind is not Kind.DEPTHWISE
        )

    def moved_bytes(self, batch: int) -> int:
        return self.moved.at(batch) + sum(each.moved.at(batch) * each.count for each in self.multiplications)


def step_work(trace: StepTrace) -> StepWork:
    """Of a trace as it is run: if it is compiled by XLA, as fused."""
    kinds: Counter[tuple[Size, Size, Kind]] = Counter()
    forward: list[Size] = []
    rest: list[Size] = []
    kernels = 0
    for operation in trace.operations:
        source = trace.sources[operation.source]
        moved = _moved(trace, operation, source.type)
        kind = _kind(source.type)
        if kind is not None:
            flops = trace.sizes[operation.work]
            if source.phase is Phase.FORWARD:
                forward.append(flops)
            kinds[flops, moved, kind] += 1
            kernels += 1
        elif moved != Size():
            rest.append(moved)
            kernels += 1
    if trace.xla:
        rest.append(_parameters(trace))
    return StepWork(
        multiplications=tuple(
            Multiplication(flops, moved, count, kind) for (flops, moved, kind), count in kinds.items()
        ),
        forward=_sum(forward),
        moved=_sum(rest),
        kernels=kernels,
        gradient_bytes=sum(trace.sizes[v.size].constant for v in trace.variables if v.role is Role.WEIGHT),
    )


def _kind(operation: str) -> Kind | None:
    if operation in CONVOLVING:
        return Kind.CONVOLUTION
    if operation in MATRIX:
        return Kind.MATRIX
    return Kind.DEPTHWISE if operation in DEPTHWISE else None


def _moved(trace: StepTrace, operation: Operation, kind: str) -> Size:
    if kind in NO_KERNEL or kind == COLLECTIVE:  # the time of a reduction goes by the link between GPUs
        return Size()
    made = [trace.sizes[value.size] for value in map(trace.values.__getitem__, operation.makes) if value.alias < 0]
    if operation.makes and not made:
        return Size()  # another name for what is there
    if kind in PICKING:
        return _sum(made + made)
    read = [trace.sizes[_behind(trace, value)] for value in set(operation.reads)]
    if operation.access is Access.UPDATE:
        own = trace.sizes[trace.variables[operation.variable].size]
        return _sum([*read, own, own])
    if operation.access is Access.REPLACE:
        return Size()  # the variable takes over a buffer that was written before
    return _sum(read + made + (read if kind in READING_TWICE else []))


def _parameters(trace: StepTrace) -> Size:
    """A compiled program reads its parameters where they lie: weights forward, backward and to be updated, and what is
    updated is written."""
    touched = {op.variable for op in trace.operations if op.access in (Access.REPLACE, Access.UPDATE)}
    times = {Role.WEIGHT: 3, Role.FROZEN: 2, Role.OPTIMIZER: 1}
    return _sum(
        trace.sizes[variable.size]
        for number, variable in enumerate(trace.variables)
        for _ in range(times.get(variable.role, 0) + (number in touched))
    )


def _behind(trace: StepTrace, value: int) -> int:
    """The size of the buffer behind a value."""
    while trace.values[value].alias >= 0:
        value = trace.values[value].alias
    return trace.values[value].size


def _sum(sizes: Iterable[Size]) -> Size:
    constant = slope = square = 0
    for size in sizes:
        constant, slope, square = constant + size.constant, slope + size.slope, square + size.square
    return Size(constant, slope, square)
