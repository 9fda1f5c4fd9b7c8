"""What TensorFlow's kernels do with memory, by operation type: whose buffer an output is.

Read in the kernels' sources (tensorflow/core/kernels); where a kernel decides by shape, so do the rules here.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

# The output is the input's buffer: set_output(0, input) or Tensor::CopyFrom, no bytes move.
ALIAS = frozenset(
    "Identity Reshape Squeeze ExpandDims StopGradient PreventGradient Enter RefEnter Exit NextIteration "
    "LoopCond Bitcast EnsureShape CheckNumerics CheckNumericsV2 Snapshot DebugIdentityV3 Print PrintV2 "
    "PlaceholderWithDefault".split()
)
CONTROL_FLOW = frozenset({"Enter", "RefEnter", "Exit", "NextIteration", "LoopCond"})
# Each output is the input of the same number.
ALIAS_EACH = frozenset({"IdentityN"})

# cwise_ops_common.h: UnaryOp and the activations (relu_op.h: UnaryElementWiseOp) forward their input.
FORWARD_FIRST = frozenset(
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Digamma Erf Erfc Erfinv Exp Expm1 Floor Inv Invert Lgamma Log "
    "Log1p LogicalNot Ndtri Neg Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Sinh Sqrt Square Tan Tanh BesselI0e "
    "BesselI1e Elu Relu Relu6 LeakyRelu Selu Softplus Softsign Softmax LogSoftmax BiasAdd BiasAddV1 "
    "_UnaryOpsComposition ClipByValue MatrixBandPart ZerosLike "
    "TensorListPushBack TensorListSetItem CollectiveReduceV2".split()
)
# BinaryOp and the gradients of activations try both inputs.
FORWARD_BOTH = frozenset(
    "Add AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor Complex Div DivNoNan FloorDiv FloorMod Igamma Igammac InvGrad "
    "LeftShift LogicalAnd LogicalOr Maximum Minimum Mod Mul MulNoNan NextAfter Polygamma Pow RealDiv ReciprocalGrad "
    "RightShift RsqrtGrad SigmoidGrad SqrtGrad SquaredDifference Sub TanhGrad TruncateDiv TruncateMod Xdivy Xlog1py "
    "Xlogy Zeta EluGrad ReluGrad Relu6Grad LeakyReluGrad SeluGrad SoftplusGrad SoftsignGrad".split()
)
# AddN takes the first input that nobody else holds; Select one of its two branches.
FORWARD_ANY = frozenset({"AddN", "AccumulateNV2"})
FORWARD_BRANCHES = frozenset({"Select", "SelectV2"})
# xent_op.cc, sparse_xent_op.cc: the gradient (output 1) takes over the logits where it can.
FORWARD_LOGITS = frozenset({"SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"})

# reduction_ops_common.h, einsum_op_impl.h, scatter_nd_op.cc: made with allocate_temp, then handed on as the output.
MADE_AS_SCRATCH = frozenset({"Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm", "Einsum", "ScatterNd"})
PADS = frozenset({"Pad", "PadV2"})
# Kernels that take their scratch memory before their output.
SCRATCH_FIRST = frozenset({"MaxPoolGrad", "Einsum", "SparseSoftmaxCrossEntropyWithLogits"})


# tensor.h IsDim0SliceAligned and EIGEN_MAX_ALIGN_BYTES: a slice may share its buffer when it starts on this boundary.
ALIGNMENT = 64


def slices_share(shape: Sequence[int], itemsize: int) -> bool:
    """Whether every slice along the first axis starts on an aligned address, so that it can be a view."""
    row = itemsize
    for size in shape[1:]:
        row *= size
    return row % ALIGNMENT == 0


def transpose_is_view(shape: Sequence[int], permutation: Sequence[int]) -> bool:
    """transpose_op.cc: the identity, or a permutation that leaves the axes longer than one in their order."""
    long = [axis for axis in permutation if shape[axis] != 1]
    return long == sorted(long)


def is_view(kind: str, node: Any, inputs: Sequence[Any], output_shape: Sequence[int]) -> bool:
    """Kernels that hand their input on as it is when there is nothing to do."""
    if not inputs:
        return False
    given = inputs[0].shape
    if kind == "Transpose":
        return inputs[1].constant is not None and transpose_is_view(given, inputs[1].constant.tolist())
    if kind in ("Tile", "Pad", "PadV2", "MirrorPad", "BroadcastTo", "Cast", "Slice"):
        return tuple(given) == tuple(output_shape) and (kind != "Cast" or node.dtypes[0] == inputs[0].dtype)
    if kind in ("ConcatV2", "AddN"):
        return len(inputs) == (2 if kind == "ConcatV2" else 1)
    if kind in ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any"):
        # reduction_ops_common.h: nothing to reduce, the data is the input's.
        return _elements(given) == _elements(output_shape) and kind not in ("Mean",)
    if kind == "StridedSlice":
        return _is_whole(inputs, output_shape) or _is_aligned_row(node, inputs)
    return False


def is_made_as_scratch(kind: str, inputs: Sequence[Any]) -> bool:
    return kind in MADE_AS_SCRATCH or (kind in PADS and _are_axes_merged(inputs[1].constant))


def _are_axes_merged(paddings: Any) -> bool:
    """pad_op.cc CollapseAdjacentNonPaddedDimensions: two axes side by side without padding are padded as one."""
    if paddings is None:
        return False
    bare = [not before and not after for before, after in paddings.tolist()]
    return any(this and following for this, following in pairwise(bare))


def _is_whole(inputs: Sequence[Any], output_shape: Sequence[int]) -> bool:
    """strided_slice_op.cc: all of every axis in its order, whatever axes of one element are added or left out."""
    strides = inputs[3].constant if len(inputs) > 3 else None
    if strides is None:
        return tuple(inputs[0].shape) == tuple(output_shape)
    return _elements(inputs[0].shape) == _elements(output_shape) and bool((strides == 1).all())


def _is_aligned_row(node: Any, inputs: Sequence[Any]) -> bool:
    """strided_slice_op.cc: a range of the first axis, all of the others, that starts and ends on aligned addresses."""
    shape, (begin, end, strides) = inputs[0].shape, (token.constant for token in inputs[1:4])
    if begin is None or end is None or strides is None or not shape:
        return False
    ignored = {
        name: node.attribute(f"{name}_mask", 0) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    if ignored["ellipsis"] or ignored["new_axis"] or strides[0] != 1 or any(s != 1 for s in strides):
        return False
    for axis in range(1, len(begin)):
        starts = ignored["begin"] >> axis & 1 or begin[axis] == 0
        ends = ignored["end"] >> axis & 1 or end[axis] >= shape[axis]
        if not (starts and ends) or ignored["shrink_axis"] >> axis & 1:
            return False
    first = 0 if ignored["begin"] & 1 else int(begin[0]) % shape[0]
    last = first + 1 if ignored["shrink_axis"] & 1 else (shape[0] if ignored["end"] & 1 else int(end[0]))
    last = last + shape[0] if last <= 0 else min(last, shape[0])
    row = _row(shape, inputs[0].dtype.size)
    return row * first % ALIGNMENT == 0 and (last == shape[0] or row * last % ALIGNMENT == 0)


def _elements(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def shared_slices(kind: str, node: Any, inputs: Sequence[Any], shapes: Sequence[Sequence[int]]) -> int:
    """1 + the input that all outputs are aligned slices of, along its first axis; 0 where they are copies."""
    if kind in ("Split", "SplitV"):
        place, axis = (1, inputs[0].constant) if kind == "Split" else (0, inputs[2].constant)
        whole = inputs[place]
        if len(shapes) == 1:
            return place + 1
        if (
            axis is not None
            and int(axis) % len(whole.shape) == 0
            and all(
                slices_share(shape, whole.dtype.size) or _row(shape, whole.dtype.size) * shape[0] % ALIGNMENT == 0
                for shape in shapes
            )
        ):
            return place + 1
    if kind == "Unpack" and node.attribute("axis") == 0 and slices_share(inputs[0].shape, inputs[0].dtype.size):
        return 1
    return 0


def _row(shape: Sequence[int], itemsize: int) -> int:
    return itemsize * _elements(shape[1:])


def forward_candidates(kind: str, count: int, port: int) -> range | tuple[int, ...]:
    """The inputs, in order, whose buffer a kernel tries to take over for an output."""
    if kind in FORWARD_LOGITS:
        return (0,) if port == 1 else ()
    if port:
        return ()
    if kind in FORWARD_FIRST:
        return (0,)
    if kind in FORWARD_BOTH:
        return (0, 1)
    if kind in FORWARD_ANY:
        return range(count)
    if kind in FORWARD_BRANCHES:
        return (1, 2)
    return ()
