"""Reductions as XLA sorts them: by rows, or by columns."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import tensorflow as tf

from planner_app.core.model.trace import Size

if TYPE_CHECKING:
    from planner_app.worker.graph.nodes import Graph, Node

REDUCING = frozenset("Sum Mean Max Min Prod".split())
CONVOLUTIONS = frozenset("Conv2D DepthwiseConv2dNative Conv3D _FusedConv2D".split())
PICTURE = 4  # dimensions: batch, height, width, channels


def channels_first(graph: Graph) -> bool:
    """layout_assignment.cc, HeuristicLayoutAssignment: pictures are turned round for cuDNN.

    Not from Hopper on, but for float64; before it, not in sixteen bits; and volumes always are.
    """
    kinds = {(node.type, node.dtypes[0]) for node in graph.nodes if node.type in CONVOLUTIONS}
    if not kinds:
        return False
    if any(kind == "Conv3D" or dtype == tf.float64 for kind, dtype in kinds):
        return True
    return all(graph.turns_pictures(dtype) for _, dtype in kinds)


def column_rows(graph: Graph, node: Node, turned: bool) -> Size:
    """How many rows are added up into each column; nothing for other operations.

    reduction_utils.cc, GetReductionKindAndContiguousComponents: the dimensions that go lie together, and what stays
    behind them are the columns. In pictures that are `turned` the channels lie before the pixels: rows again.
    """
    if not graph.xla or not node.inputs:
        return Size()
    source, port = node.inputs[0]
    shape = graph.nodes[source].shapes[port]
    if shape is None or (turned and len(shape) >= PICTURE):
        return Size()
    axes = _axes(graph, node, len(shape))
    if not axes or axes != list(range(axes[0], axes[-1] + 1)) or prod(shape[axes[-1] + 1 :]) == 1:
        return Size()
    return graph.over_batch(prod(shape[axis] for axis in axes))


def _axes(graph: Graph, node: Node, rank: int) -> list[int]:
    if node.type == "BiasAddGrad" and node.attribute("data_format", b"NHWC") == b"NHWC":
        return list(range(rank - 1))
    if node.type not in REDUCING:
        return []
    constant = graph.nodes[node.inputs[1][0]].constant
    return [] if constant is None else sorted(int(axis) % rank for axis in constant.reshape(-1))
