"""Arithmetic of an operation: multiplications and additions, two for each multiply-add."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner_app.worker.graph.nodes import Node
    from planner_app.worker.graph.unroll import Token


def work_of(node: Node, inputs: list[Token], shapes: list[tuple[int, ...]]) -> int:
    kind = node.type
    if kind in ("Conv2D", "_FusedConv2D", "Conv3D", "_FusedConv3D"):
        return 2 * prod(shapes[0]) * prod(inputs[1].shape[:-1])
    if kind in ("Conv2DBackpropFilter", "Conv3DBackpropFilterV2"):
        return 2 * prod(inputs[2].shape) * prod(shapes[0][:-1])
    if kind in ("Conv2DBackpropInput", "Conv3DBackpropInputV2"):
        return 2 * prod(inputs[2].shape) * prod(inputs[1].shape[:-1])
    if kind == "DepthwiseConv2dNative":
        return 2 * prod(shapes[0]) * prod(inputs[1].shape[:2])
    if kind == "DepthwiseConv2dNativeBackpropFilter":
        return 2 * prod(inputs[2].shape) * prod(shapes[0][:2])
    if kind == "DepthwiseConv2dNativeBackpropInput":
        return 2 * prod(inputs[2].shape) * prod(inputs[1].shape[:2])
    if kind in ("MatMul", "_FusedMatMul"):
        inner = inputs[0].shape[0 if node.attribute("transpose_a") else 1]
        return 2 * prod(shapes[0]) * inner
    if kind in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
        inner = inputs[0].shape[-2 if node.attribute("adj_x") else -1]
        return 2 * prod(shapes[0]) * inner
    if kind == "Einsum":
        return _einsum(node, inputs)
    return max((prod(shape) for shape in (*(t.shape for t in inputs), *shapes)), default=0)


def _einsum(node: Node, inputs: list[Token]) -> int:
    sizes: dict[str, int] = {}
    operands = node.attribute("equation").decode().partition("->")[0].replace("...", "").split(",")
    for labels, token in zip(operands, inputs, strict=True):
        sizes.update(zip(labels, token.shape[-len(labels) :], strict=True))
    return 2 * prod(sizes.values())
