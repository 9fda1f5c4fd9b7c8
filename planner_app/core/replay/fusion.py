"""The same step compiled by XLA: chains of elementwise operations become one kernel and their links take no memory.

A model of XLA's GPU pipeline, not the compiler: which results stay in memory is decided by the rules of its fusion
passes (instruction_fusion.cc, gpu/transforms/priority_fusion.cc), the order by the best of two schedules, as its
memory scheduler does. The compile check is the truth this is held against.
"""

from collections import Counter
from dataclasses import replace

from planner_app.core.model.trace import Access, Operation, Size, StepTrace

# Library calls and kernels of their own: what they read and write is in memory.
OPAQUE = frozenset(
    "Conv2D Conv3D Conv2DBackpropInput Conv2DBackpropFilter Conv3DBackpropInputV2 Conv3DBackpropFilterV2 "
    "DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput DepthwiseConv2dNativeBackpropFilter _FusedConv2D "
    "MatMul _FusedMatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum Unique Where TopKV2 Cumsum Cumprod "
    "CollectiveReduceV2 Qr Svd MatrixInverse FFT IFFT RFFT IRFFT ResizeBilinear ResizeBilinearGrad "
    "ResizeNearestNeighbor ResizeNearestNeighborGrad TensorListStack TensorListFromTensor XlaDynamicUpdateSlice "
    "PartitionedCall StatefulPartitionedCall".split()
)
# Keras compiles each grouped convolution as a function of its own. Inside a program it is a convolution; what the
# function hands on to its gradient is what it has read.
HANDING_ON = "StatefulPartitionedCall"
# layout_assignment.cc: cuDNN wants filters by output channel, Keras has them the other way round, so each is copied,
# once for the forward and the backward pass together. So is an input: padded where cuDNN would pad both sides alike
# (conv_padding_legalization.cc), given a fourth channel (cudnn_pad_for_convolutions.cc) or turned to channels first.
COPYING = frozenset(
    "Conv2D Conv3D Conv2DBackpropInput Conv3DBackpropInputV2 DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput "
    "_FusedConv2D".split()
)
# Reductions take in what they read and leave their own result in memory; a softmax is two of them.
REDUCING = frozenset("Sum Mean Max Min Prod All Any ArgMax ArgMin BiasAddGrad L2Loss Softmax LogSoftmax".split())
# Kernels that compute what they read on the way (reduce-window, gather, scatter, concatenate: gpu_fusible.cc).
# Indices that name a place again for each of its channels are never in memory.
TAKING = frozenset(
    "MaxPool MaxPoolGrad AvgPool AvgPoolGrad MaxPool3D MaxPool3DGrad AvgPool3D AvgPool3DGrad ConcatV2 "
    "GatherV2 ResourceGather UnsortedSegmentSum ScatterNd TensorScatterUpdate TensorScatterAdd ResourceScatterAdd "
    "ResourceScatterSub".split()
)
# Gradients of embeddings and of max pooling are added into zeros.
SCATTERING = frozenset("UnsortedSegmentSum MaxPoolGrad MaxPool3DGrad".split())
# gpu_fusible.cc IsExpensiveToRepeat / hlo_opcode cost: computed once, so kept when several kernels want them.
EXPENSIVE = frozenset(
    "Exp Expm1 Log Log1p Tanh Sigmoid Erf Erfc Pow Sqrt Rsqrt RealDiv Div DivNoNan Sin Cos Tan Atan2 Softplus "
    "FloorMod".split()
)
# Philox gives four streams that are put one behind the other: made once, kept for the backward pass. What is compared
# with a rate right away, as in dropout, is compared by the same kernel, and only the mask of one byte each is kept.
RANDOM = frozenset(
    "StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessTruncatedNormalV2 StatelessRandomUniformFullIntV2 "
    "StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal".split()
)
CONVOLUTIONS = frozenset("Conv2D Conv3D".split())
ADDING = frozenset("Add AddV2".split())
# Gradients of activations that are given the result and computed from what that was made of.
LOOKING_BACK = frozenset("ReluGrad EluGrad SeluGrad".split())
COMPARING = frozenset("GreaterEqual Greater Less LessEqual".split())
SCALING = frozenset("Mul Add AddV2 Sub Cast".split())

MOST_SOURCES = 16  # a kernel that would read more than this from memory is cut in two
# reduction_utils.cc: a reduction into columns is a kernel of its own kind from 32 rows on
# (IsUnnestedReductionFasterThanElemental), and one kernel up to 4096 (ReductionDimensionRaceFreeBound); above, it is
# split in two (tree_reduction_rewriter.cc).
FEWEST_ROWS, MOST_ROWS = 32, 4096


def narrow_reductions(trace: StepTrace, batch: int) -> frozenset[int]:
    """Sources that add up so few rows at this batch that it is done by one kernel, with few threads.

    The cost model leaves as much as it can out of such a kernel: what it reads is not computed in it a second time
    when others want it too. What is fused depends on the batch through this alone.
    """
    return frozenset(
        number
        for number, source in enumerate(trace.sources)
        if (source.rows.constant or source.rows.slope) and FEWEST_ROWS <= source.rows.at(batch) <= MOST_ROWS
    )


class Fusion:
    """A trace with only those values in memory that XLA keeps; operations that are fused away are gone.

    Variables are updated where they lie: their buffers are given to the program and taken back. Other results get a
    buffer of their own: the compiler shares one only between equal shapes and layouts, which at the peak of real
    programs was hardly ever seen. Whichever reductions are narrow, operations have the same numbers.
    """

    def __init__(self, trace: StepTrace, *, side_inputs: bool = True) -> None:
        """`side_inputs`: convolutions add to what they compute."""
        self._trace, self._readers, self._side_inputs = trace, _readers(trace), side_inputs
        wide = _Pass(trace, self._readers, frozenset(), side_inputs=side_inputs)
        self._wide, self._cut = wide.run(), wide.cut

    def fused(self, narrow: frozenset[int] = frozenset()) -> StepTrace:
        return _linked(self._narrowed(narrow).run() if narrow else self._wide)

    def _narrowed(self, narrow: frozenset[int]) -> "_Pass":
        return _Pass(self._trace, self._readers, narrow, self._cut, side_inputs=self._side_inputs)


class _Pass:
    """One pass over the operations in order: whose results are in memory, and where the others come from.

    Attributes:
        sources: For each value the values in memory that it is computed from; itself, if it is there.
        cut: Values in memory only because their kernel would have read too much, where no reduction is narrow.
    """

    def __init__(
        self,
        trace: StepTrace,
        readers: list[list[int]],
        narrow: frozenset[int],
        cut: set[int] | None = None,
        *,
        side_inputs: bool,
    ) -> None:
        self.trace, self.readers, self.narrow, self.side_inputs = trace, readers, narrow, side_inputs
        self._found_cut = cut is None
        self.cut: set[int] = cut or set()
        self.sources: list[tuple[int, ...]] = [()] * len(trace.values)
        self.values = list(trace.values)
        self.before_activation: dict[int, tuple[int, ...]] = {}
        self.differences: dict[tuple[int, ...], int] = {}
        self.masks = _masks(trace, readers)
        self.maker = {made: operation for operation in trace.operations for made in operation.makes}
        self.segment_sums = Counter(
            trace.values[operation.makes[0]].size
            for operation in trace.operations
            if trace.sources[operation.source].type == "UnsortedSegmentSum"
        )

    def run(self) -> StepTrace:
        operations, zeros = [], []
        for operation in self.trace.operations:
            reads = self._reads(operation)
            makes = tuple(made for made in operation.makes if self._is_made(operation, made, reads))
            if makes and (early := self._early_zeros(operation, makes)):
                zeros.append(_kernel(operation, (), early))
                reads = (*reads, *early)
            if makes or operation.access in _WRITES:
                operations.append(_kernel(operation, reads, makes))
            elif any(self._is_wanted_by_reduction(made) for made in operation.makes):
                operations.append(_kernel(operation, (), ()))  # a kernel at other batches
        return replace(self.trace, operations=(*zeros, *operations), values=tuple(self.values), adding=())

    def _early_zeros(self, operation: Operation, makes: tuple[int, ...]) -> tuple[int, ...]:
        """Zeros that are there long before something is added into them.

        multi_output_fusion.cc: where two kernels want zeros of one shape, both are made by a third. As that reads
        nothing, it comes before all others.
        """
        kind = self.trace.sources[operation.source].type
        if kind == "UnsortedSegmentSum" and self.segment_sums[self.values[makes[0]].size] > 1:
            return (self._in_place(makes[0]),)
        if kind in ("MaxPoolGrad", "MaxPool3DGrad") and "ReluGrad" in self._kinds(makes[-1]):
            # Those that the ReLU's gradient puts where nothing passes; of them, a copy is what it adds into.
            return (self._in_place(makes[-1]),)
        return ()

    def _in_place(self, made: int) -> int:
        """Another value in whose memory this one is made."""
        place = len(self.values)
        self.values.append(self.values[made])
        self.values[made] = replace(self.values[made], alias=place)
        return place

    def _reads(self, operation: Operation) -> tuple[int, ...]:
        found = [self.sources[read] for read in operation.reads]
        kind = self.trace.sources[operation.source].type
        if kind in LOOKING_BACK:  # as of max(x, 0) > 0, which is x > 0, it is x that is looked at again
            found[1] = tuple(each for source in found[1] for each in self.before_activation.get(source, (source,)))
        elif kind == "Sub" and (again := self.differences.get(self._bases(operation))) is not None:
            found = [(again,)]
        return tuple(dict.fromkeys(source for each in found for source in each))

    def _is_made(self, operation: Operation, made: int, reads: tuple[int, ...]) -> bool:
        """Whether a kernel puts this value into memory; if not, what it is computed from is noted."""
        value, kind = self.trace.values[made], self.trace.sources[operation.source].type
        if _is_copied(operation, self._kinds(made)):
            return self._keep(made)
        if operation.access is Access.READ or value.folded:
            return False  # a parameter or a constant: in memory all the time
        if value.alias >= 0:
            self.sources[made] = self.sources[value.alias]
            return False
        if kind == HANDING_ON and made != operation.makes[0]:
            self.sources[made] = self._handed_on(operation, made)
            return False
        if value.scratch and not self.readers[made] and kind not in OPAQUE and kind not in TAKING:
            return False
        if self._found_cut and len(reads) > MOST_SOURCES:
            self.cut.add(made)
        if self.side_inputs and kind in ADDING and (place := self._side_input(operation, made)) is not None:
            self.values[made] = replace(value, alias=place, forward=(), holds=(), scratch=False)
            self.sources[made] = (made,)
            return True
        if made in self.masks.values():
            return self._keep(made)
        if made in self.masks:
            return False
        if not (_is_kept(kind, self._kinds(made)) or made in self.cut or self._is_left_out(operation, made)):
            self.sources[made] = reads
            return False
        if f"{kind}Grad" in LOOKING_BACK:
            self.before_activation[made] = reads
        return self._keep(made)

    def _side_input(self, operation: Operation, made: int) -> int | None:
        """The convolution in whose memory this sum is made.

        A convolution adds its bias, and what its result is added to, by itself (cudnn-conv-bias-activation).
        """
        sizes = {self.trace.values[self._base(read)].size for read in operation.reads}
        if len(operation.reads) != 2 or sizes != {self.trace.values[made].size}:
            return None
        for read in reversed(operation.reads):
            result = self._base(read)
            while result in self.maker and len(self.readers[result]) == 1:
                maker = self.maker[result]
                kind = self.trace.sources[maker.source].type
                if kind in CONVOLUTIONS:
                    return result
                if kind != "BiasAdd":
                    break
                result = self._base(maker.reads[0])
        return None

    def _handed_on(self, operation: Operation, made: int) -> tuple[int, ...]:
        same = (read for read in operation.reads if self.trace.values[read].size == self.trace.values[made].size)
        return next((self.sources[read] for read in same), ())

    def _is_left_out(self, operation: Operation, made: int) -> bool:
        """Of a narrow reduction's kernel, because others want it too."""
        if not any(reader in self.narrow for reader in self.readers[made]):
            return False
        if self.trace.sources[operation.source].type == "SquaredDifference":
            # The difference itself, not yet squared, is what the backward pass computes again.
            self.differences[self._bases(operation)] = made
            return True
        return len(self.readers[made]) > 1

    def _is_wanted_by_reduction(self, made: int) -> bool:
        return any(self.trace.sources[reader].rows != NO_ROWS for reader in self.readers[made])

    def _keep(self, made: int) -> bool:
        self.values[made] = replace(self.trace.values[made], alias=-1, forward=(), holds=(), scratch=False)
        self.sources[made] = (made,)
        return True

    def _kinds(self, value: int) -> list[str]:
        return [self.trace.sources[reader].type for reader in self.readers[value]]

    def _bases(self, operation: Operation) -> tuple[int, ...]:
        """What is read, whatever it has been renamed to."""
        return tuple(map(self._base, operation.reads))

    def _base(self, value: int) -> int:
        while self.trace.values[value].alias >= 0:
            value = self.trace.values[value].alias
        return value


NO_ROWS = Size()
_WRITES = (Access.REPLACE, Access.UPDATE, Access.TOUCH)


def _is_copied(operation: Operation, readers: list[str]) -> bool:
    return operation.access is Access.READ and any(reader in COPYING for reader in readers)


def _is_kept(kind: str, readers: list[str]) -> bool:
    if kind in OPAQUE or kind in REDUCING or kind in TAKING or kind in RANDOM:
        return True
    if any(reader in OPAQUE for reader in readers):
        return True
    return kind in EXPENSIVE and len(readers) > 1


def _kernel(operation: Operation, reads: tuple[int, ...], makes: tuple[int, ...]) -> Operation:
    return replace(operation, reads=reads, makes=makes, access=Access.NONE, then=(), waits=0)


def _readers(trace: StepTrace) -> list[list[int]]:
    """For each value the sources of the operations that read it, through whatever only renames it."""
    readers: list[list[int]] = [[] for _ in trace.values]
    for operation in trace.operations:
        if all(trace.values[made].alias >= 0 for made in operation.makes) and operation.makes:
            continue
        for read in operation.reads:
            readers[read].append(operation.source)
    for number in range(len(trace.values) - 1, -1, -1):
        alias = trace.values[number].alias
        if alias >= 0:
            readers[alias].extend(readers[number])
    return readers


def _masks(trace: StepTrace, readers: list[list[int]]) -> dict[int, int]:
    """For random numbers that are only compared with a rate, the result of the comparison."""
    by_source = {operation.source: operation for operation in trace.operations}
    found = {}
    for operation in trace.operations:
        if trace.sources[operation.source].type not in RANDOM:
            continue
        made = operation.makes[0]
        while len(readers[made]) == 1:
            reader = by_source[readers[made][0]]
            kind, made = trace.sources[reader.source].type, reader.makes[0]
            if kind in COMPARING:
                found[operation.makes[0]] = made
            if kind not in SCALING:
                break
    return found


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
