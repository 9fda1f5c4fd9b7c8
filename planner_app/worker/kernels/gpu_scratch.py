"""Memory that TensorFlow's GPU kernels take for themselves while they run, but for what cuDNN chooses as workspace:
that can't be known beforehand. Read in the kernels' sources; no GPU was at hand to see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

import tensorflow as tf

from planner_app.core.model.trace import Size
from planner_app.worker.kernels import cublas
from planner_app.worker.kernels.call import Call, Scratch
from planner_app.worker.kernels.shared_scratch import einsum, reduction

# Compute capability from which on tensor cores take a type with the channels last: float32 as TF32.
CHANNELS_LAST_FROM = {tf.float16: 7.0, tf.bfloat16: 8.0, tf.float32: 8.0}


def _softmax(call: Call) -> Iterator[Scratch]:
    """softmax_op_gpu.cu.cc: largest logits, and sums in float32, both of the full shape."""
    yield Scratch(call.output_size)
    yield Scratch(call.size_of(call.shapes[0], tf.float32))


def _convolution(call: Call) -> Iterator[Scratch]:
    """conv_ops_impl.h: the filter in cuDNN's order, and a padded copy of the input where the padding is lopsided."""
    image, kernel = call.inputs[0].shape, call.inputs[1].shape
    if _is_product(call, image, kernel):
        return
    yield Scratch(call.input_size(1))
    if _is_lopsided(call, image, kernel):
        yield Scratch(call.input_size(0))
    if _is_turned(call):
        yield Scratch(call.input_size(0))
        yield Scratch(call.output_size)


def _input_gradient(call: Call) -> Iterator[Scratch]:
    """conv_grad_input_ops.cc: the result once more before it is transformed, again without the padding of one side,
    and the filter in cuDNN's order."""
    image, kernel = call.shapes[0], call.inputs[1].shape
    if _is_product(call, image, kernel):
        return
    yield Scratch(call.output_size)
    yield Scratch(call.input_size(1))
    if _is_lopsided(call, image, kernel):
        yield Scratch(call.output_size)
    if _is_turned(call):
        yield Scratch(call.input_size(2))


def _filter_gradient(call: Call) -> Iterator[Scratch]:
    """conv_grad_filter_ops.cc: the result in cuDNN's order, and a padded copy of the input."""
    image, kernel = call.inputs[0].shape, call.shapes[0]
    if _is_product(call, image, kernel):
        return
    yield Scratch(call.output_size)
    if _is_lopsided(call, image, kernel):
        yield Scratch(call.input_size(0))
    if _is_turned(call):
        yield Scratch(call.input_size(0))
        yield Scratch(call.input_size(2))


def _is_product(call: Call, image: tuple[int, ...], kernel: tuple[int, ...]) -> bool:
    """With the channels last, a convolution of one pixel without strides, or of the whole picture, is a matrix product:
    cuBLAS, no copies. With the channels first, which Grappler makes of training in float32, cuDNN runs it."""
    if _channels_first(call) or prod(call.node.attribute("dilations", [1])) != 1:
        return False
    if prod(kernel[:-2]) == 1:
        return bool(prod(call.node.attribute("strides", [1])) == 1)
    return image[1:-1] == kernel[:-2] and bool(call.node.attribute("padding", b"VALID") == b"VALID")


def _is_turned(call: Call) -> bool:
    """conv_ops_gpu.cc, ComputeInNhwcEnabled: with the channels last, cuDNN is used where tensor cores take the type;
    elsewhere kernels copy what they read and write to have the channels first."""
    needed = CHANNELS_LAST_FROM.get(call.dtype)
    return not _channels_first(call) and (needed is None or call.graph.capability < needed)


def _channels_first(call: Call) -> bool:
    return bool(call.node.attribute("data_format", b"NHWC").startswith(b"NC"))


def _is_lopsided(call: Call, image: tuple[int, ...], kernel: tuple[int, ...]) -> bool:
    """An odd number of rows or columns to pad: cuDNN pads both sides alike."""
    if call.node.attribute("padding", b"VALID") != b"SAME":
        return False
    first = 2 if _channels_first(call) else 1
    strides = call.node.attribute("strides")
    for axis in range(len(kernel) - 2):
        size, stride, width = image[first + axis], strides[first + axis], kernel[axis]
        if max((-(-size // stride) - 1) * stride + width - size, 0) % 2:
            return True
    return False


def _pool_gradient_by_xla(call: Call) -> Iterator[Scratch]:
    """select_and_scatter_expander.cc: the forward pass again with four indices for each result, and zeros to add to."""
    yield Scratch(call.output_size)
    yield Scratch(call.input_size(1))
    for _ in range(4):
        yield Scratch(call.size_of(call.inputs[1].shape, tf.float32))


def _product_by_xla(call: Call) -> Iterator[Scratch]:
    """Every call of cuBLAS has its workspace as one of its results."""
    first = 0
    if call.node.type != "Einsum":
        sides = _sides(call.inputs[0].shape, call.shapes[0])
        if not cublas.is_product(*sides):
            return
        first = cublas.from_batch(*sides, call.graph.batch)
    yield Scratch(Size(cublas.workspace_bytes(call.graph.capability)), from_batch=first)


def _sides(left: Sequence[int], product: Sequence[int]) -> tuple[int, int, int]:
    """Rows, columns, and what is summed over."""
    rows, columns = product[-2:]
    return rows, columns, left[-2] * left[-1] // max(rows, 1)


XLA_RULES: dict[str, Callable[[Call], Iterator[Scratch]]] = {
    **dict.fromkeys(("MaxPoolGrad", "MaxPool3DGrad"), _pool_gradient_by_xla),
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"), _product_by_xla),
}
GPU_RULES: dict[str, Callable[[Call], Iterator[Scratch]]] = {
    "Einsum": einsum,
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
    **dict.fromkeys(("Conv2D", "_FusedConv2D", "Conv3D"), _convolution),
    **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInputV2"), _input_gradient),
    **dict.fromkeys(("Conv2DBackpropFilter", "Conv3DBackpropFilterV2"), _filter_gradient),
    **dict.fromkeys(("Sum", "Mean", "Max", "Min", "Prod"), reduction),
}
