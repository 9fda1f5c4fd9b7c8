"""Memory that TensorFlow's CPU kernels take for themselves while they run (oneDNN off).

Each rule is the kernel's own arithmetic; the file it stands in is named beside it.
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
    rule = CPU_RULES.get(node.type)
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
