"""Memory that TensorFlow's kernels take for themselves while they run, on the CPU (oneDNN off) and on GPUs.

Each rule is the kernel's own arithmetic; the file it stands in is named beside it. What cuDNN chooses as workspace
can't be known beforehand and is no part of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from planner_app.core.trace import Size

if TYPE_CHECKING:
    from planner_app.worker.graph import Graph, Node
    from planner_app.worker.unroll import Token

Scratch = tuple[Size, tuple[int, ...]]  # how much, and which inputs' buffers would do instead
Rule = Callable[["Node", "list[Token]", "list[tuple[int, ...]]", "Graph"], Iterator[Scratch]]

# conv_grad_filter_ops.cc, conv_grad_input_ops.h: "30MB is from ivybridge", whatever the machine's caches are.
L3_CACHE_BYTES = 30 << 20
L2_CACHE_BYTES = 256 << 10
# Threads of the CPU device that is stood in for; a device of its own, not the machine this runs on.
CPU_THREADS = 2

LOW_PRECISION = (tf.float16, tf.bfloat16)


def scratch_of(node: Node, inputs: list[Token], shapes: list[tuple[int, ...]], graph: Graph) -> Iterator[Scratch]:
    rule = (GPU_RULES if graph.on_gpu else CPU_RULES).get(node.type)
    return rule(node, inputs, shapes, graph) if rule else iter(())


def _filter_gradient(node: Node, inputs: list[Token], shapes: list[tuple[int, ...]], graph: Graph) -> Iterator[Scratch]:
    """im2col of as many images as fill the cache."""
    patch, depth = prod(shapes[0][:-1]), shapes[0][-1]
    image = prod(inputs[2].shape[1:-1])
    yield _columns(node, patch, depth, image)


def _input_gradient(node: Node, inputs: list[Token], shapes: list[tuple[int, ...]], graph: Graph) -> Iterator[Scratch]:
    """The same, but for one image where that alone keeps every thread busy."""
    kernel = inputs[1].shape
    image = prod(inputs[2].shape[1:-1])
    patch = prod(kernel[:-1])
    item = node.dtypes[0].size
    unit = image * kernel[-1] + patch * kernel[-1] + image * patch
    if unit // CPU_THREADS >= L2_CACHE_BYTES // item:
        yield Size(image * patch * item), ()
    else:
        yield _columns(node, patch, kernel[-1], image)


def _columns(node: Node, patch: int, depth: int, image: int) -> Scratch:
    item = node.dtypes[0].size
    unit = image * patch + image * depth + patch * depth
    return Size(-(-(L3_CACHE_BYTES // item) // unit) * image * patch * item), ()


def _pool_gradient(node: Node, inputs: list[Token], shapes: list[tuple[int, ...]], graph: Graph) -> Iterator[Scratch]:
    """maxpooling_op.cc: the forward pass again, into its own old output if that is free, with 64-bit places."""
    yield graph.size(inputs[1].shape, inputs[1].dtype), (1,)
    yield graph.size(inputs[1].shape, tf.int64), ()


def _matrix_product(node: Node, inputs: list[Token], shapes: list[tuple[int, ...]], graph: Graph) -> Iterator[Scratch]:
    """matmul_op_impl.h: sixteen-bit operands and result are converted to float32 as a whole."""
    if inputs[0].dtype in LOW_PRECISION:
        for shape in (inputs[0].shape, inputs[1].shape, shapes[0]):
            yield graph.size(shape, tf.float32), ()


def _reduction(node: Node, inputs: list[Token], shapes: list[tuple[int, ...]], graph: Graph) -> Iterator[Scratch]:
    """reduction_ops_common.h: axes that don't collapse to at most three groups need a transposed copy."""
    axes = inputs[1].constant
    shape = inputs[0].shape
    if axes is None or not shape:
        return
    reduced = {int(axis) % len(shape) for axis in axes.reshape(-1)}
    groups = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        if not groups or groups[-1] != (axis in reduced):
            groups.append(axis in reduced)
    if len(groups) > 3:
        yield graph.size(shape, inputs[0].dtype), ()


def _einsum(node: Node, inputs: list[Token], shapes: list[tuple[int, ...]], graph: Graph) -> Iterator[Scratch]:
    """einsum_op_impl.h: operands are transposed to [batch, free, contract] and the product to the wanted order."""
    left, _, result = node.attribute("equation").decode().partition("->")
    operands = left.split(",")
    labels = list(dict.fromkeys(left.replace(",", "").replace(".", "")))
    kinds = {label: _label_kind(label, operands, result) for label in labels}
    order = {label: place for place, label in enumerate(labels)}
    free: list[str] = []
    for operand, token in zip(operands, inputs, strict=True):
        text = operand.replace(".", "")
        key = [(kinds[label], order[label]) for label in text]
        swapped = [({2: 3, 3: 2}.get(kind, kind), place) for kind, place in key]
        if key != sorted(key) and swapped != sorted(swapped):
            yield graph.size(token.shape, token.dtype), ()
        free += [label for _, label in sorted(zip(key, text, strict=True)) if kinds[label] == 2]
    made = [label for label in labels if kinds[label] == 1] + free
    if made != list(result.replace(".", "")):
        yield graph.size(shapes[0], node.dtypes[0]), ()


def _label_kind(label: str, operands: list[str], result: str) -> int:
    """EinsumDimensionType: 1 batch, 2 free, 3 contract, 4 reduce."""
    everywhere = len(operands) > 1 and all(label in operand for operand in operands)
    if label in result:
        return 1 if everywhere else 2
    return 3 if everywhere else 4


def _softmax_on_gpu(node: Node, inputs: list[Token], shapes: list[tuple[int, ...]], graph: Graph) -> Iterator[Scratch]:
    """softmax_op_gpu.cu.cc: largest logits, and sums in float32, both of the full shape."""
    yield graph.size(shapes[0], node.dtypes[0]), ()
    yield graph.size(shapes[0], tf.float32), ()


def _convolution_on_gpu(node: Node, inputs: list[Token], shapes: list[tuple[int, ...]], graph: Graph) -> Iterator[Scratch]:
    """conv_ops_impl.h: the filter in cuDNN's order, and a padded copy of the input where the padding is lopsided."""
    image, kernel = inputs[0].shape, inputs[1].shape
    if _is_product(node, kernel):
        return
    yield graph.size(kernel, inputs[1].dtype), ()
    if _is_lopsided(node, image, kernel):
        yield graph.size(image, inputs[0].dtype), ()


def _input_gradient_on_gpu(
    node: Node, inputs: list[Token], shapes: list[tuple[int, ...]], graph: Graph
) -> Iterator[Scratch]:
    """conv_grad_input_ops.cc: the result once more before it is transformed, and the filter in cuDNN's order."""
    kernel = inputs[1].shape
    if _is_product(node, kernel):
        return
    yield graph.size(shapes[0], node.dtypes[0]), ()
    yield graph.size(kernel, inputs[1].dtype), ()


def _filter_gradient_on_gpu(
    node: Node, inputs: list[Token], shapes: list[tuple[int, ...]], graph: Graph
) -> Iterator[Scratch]:
    """conv_grad_filter_ops.cc: the result in cuDNN's order, and a padded copy of the input."""
    if _is_product(node, shapes[0]):
        return
    yield graph.size(shapes[0], node.dtypes[0]), ()
    if _is_lopsided(node, inputs[0].shape, shapes[0]):
        yield graph.size(inputs[0].shape, inputs[0].dtype), ()


def _is_product(node: Node, kernel: tuple[int, ...]) -> bool:
    """A convolution of one pixel without strides is a matrix product: cuBLAS, no copies."""
    return prod(kernel[:-2]) == 1 and prod(node.attribute("strides", [1])) == 1


def _is_lopsided(node: Node, image: tuple[int, ...], kernel: tuple[int, ...]) -> bool:
    if node.attribute("padding", b"VALID") != b"SAME":
        return False
    first = node.attribute("data_format", b"NHWC").decode().index("H") if len(image) == 4 else 1
    strides = node.attribute("strides")
    for axis in range(len(kernel) - 2):
        size, stride, width = image[first + axis], strides[first + axis], kernel[axis]
        padding = max((-(-size // stride) - 1) * stride + width - size, 0)
        if padding % 2:
            return True
    return False


GPU_RULES: dict[str, Rule] = {
    "Softmax": _softmax_on_gpu,
    "LogSoftmax": _softmax_on_gpu,
    "Conv2D": _convolution_on_gpu,
    "_FusedConv2D": _convolution_on_gpu,
    "Conv3D": _convolution_on_gpu,
    "Conv2DBackpropInput": _input_gradient_on_gpu,
    "Conv3DBackpropInputV2": _input_gradient_on_gpu,
    "Conv2DBackpropFilter": _filter_gradient_on_gpu,
    "Conv3DBackpropFilterV2": _filter_gradient_on_gpu,
    "Einsum": _einsum,
    **dict.fromkeys(("Sum", "Mean", "Max", "Min", "Prod"), _reduction),
}
CPU_RULES: dict[str, Rule] = {
    "Conv2DBackpropFilter": _filter_gradient,
    "Conv2DBackpropInput": _input_gradient,
    "MaxPoolGrad": _pool_gradient,
    "MatMul": _matrix_product,
    "_FusedMatMul": _matrix_product,
    "BatchMatMul": _matrix_product,
    "BatchMatMulV2": _matrix_product,
    "BatchMatMulV3": _matrix_product,
    "Einsum": _einsum,
    **dict.fromkeys(("Sum", "Mean", "Max", "Min", "Prod"), _reduction),
}
