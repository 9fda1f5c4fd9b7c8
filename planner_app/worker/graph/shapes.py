"""Shapes and small numbers that a graph does not say by itself: TensorFlow's own shape functions, asked again with
what is known while a loop is unrolled."""

from __future__ import annotations

import math
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import node_def_pb2
from tensorflow.python.framework import ops

from planner_app.worker.kernels.forwarding import FORWARD_BOTH, FORWARD_BRANCHES, FORWARD_FIRST

if TYPE_CHECKING:
    from planner_app.worker.graph.nodes import Node
    from planner_app.worker.graph.unroll import Token

# Numbers that steer a step (shapes, indices, loop counters) are integers or truth values, and few.
LARGEST_EVALUATED = 64
# What is made of numbers that the step brings along (the edges of a graph, say) may have as many as those.
LARGEST_OF_DATA = 1 << 20


class Inference:
    """Output shapes of one node for given input shapes and known inputs, remembered."""

    def __init__(self) -> None:
        self._graph = tf.Graph()
        self._known: dict[Any, list[tuple[int, ...] | None]] = {}

    def shapes(self, node: Node, inputs: list[Token]) -> list[tuple[int, ...] | None]:
        key = (node.id, *((t.shape, None if t.constant is None else t.constant.tobytes()) for t in inputs))
        if key not in self._known:
            self._known[key] = self._ask(node, inputs)
        return self._known[key]

    def _ask(self, node: Node, inputs: list[Token]) -> list[tuple[int, ...] | None]:
        with self._graph.as_default():
            feeds = [
                tf.constant(token.constant, dtype=token.dtype)
                if token.constant is not None
                else tf.compat.v1.placeholder(token.dtype, token.shape)
                for token in inputs
            ]
            definition = node_def_pb2.NodeDef()
            definition.CopyFrom(node.definition)
            definition.name = self._graph.unique_name("ask")
            del definition.input[:]
            definition.attr.pop("_class", None)
            try:
                operation = ops.Operation.from_node_def(
                    definition,
                    self._graph,
                    feeds,
                    output_types=node.dtypes,
                    control_inputs=[],
                    input_types=[feed.dtype for feed in feeds],
                )
            except (ValueError, TypeError):
                return [None] * len(node.dtypes)
            return [tuple(o.shape.as_list()) if o.shape.is_fully_defined() else None for o in operation.outputs]


def _grouped(node: Node, feeds: list[Any]) -> list[Any]:
    """Inputs as the operation declares them: a list argument takes several."""
    declared = node.operation.op_def.input_arg
    grouped, place = [], 0
    for argument in declared:
        if argument.number_attr:
            count = node.operation.get_attr(argument.number_attr)
        elif argument.type_list_attr:
            count = len(node.operation.get_attr(argument.type_list_attr))
        else:
            grouped.append(feeds[place])
            place += 1
            continue
        grouped.append(feeds[place : place + count])
        place += count
    return grouped


def evaluate(node: Node, inputs: list[Token], shapes: list[tuple[int, ...] | None]) -> list[np.ndarray] | None:
    """What a node makes of known integers, or None where it is not known or not worth knowing.

    Args:
        shapes: Of the outputs. What is too large is not computed: two numbers are enough to ask for gigabytes.
    """
    if node.type in ("Shape", "Size", "Rank", "ShapeN"):
        return _shape_of(node, inputs)
    if (clamped := _clamped(node, inputs)) is not None:
        return [clamped]
    if not inputs or any(token.constant is None for token in inputs):
        return None
    if any(not (d.is_integer or d.is_bool) for d in node.dtypes) or node.operation.op_def.is_stateful:
        return None
    small = all(np.asarray(token.constant).size <= LARGEST_EVALUATED for token in inputs)
    limit = LARGEST_EVALUATED if small else LARGEST_OF_DATA
    if any(shape is not None and math.prod(shape) > limit for shape in shapes):
        return None
    function = getattr(tf.raw_ops, node.type, None)
    if function is None:
        return None
    arguments: dict[str, Any] = {}
    for name, given in zip(_names(node, function), _grouped(node, inputs), strict=True):
        group = given if isinstance(given, list) else [given]
        tensors = [tf.constant(token.constant, dtype=token.dtype) for token in group]
        arguments[name] = tensors if isinstance(given, list) else tensors[0]
    inferred = {a.type_attr for a in node.operation.op_def.input_arg} | {
        a.number_attr for a in node.operation.op_def.input_arg
    }
    for attribute in node.operation.op_def.attr:
        if attribute.name not in inferred and not attribute.name.startswith("_"):
            arguments[attribute.name] = node.operation.get_attr(attribute.name)
    try:
        with tf.init_scope():
            outputs = function(**arguments)
    except (tf.errors.OpError, TypeError, ValueError):
        return None
    outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
    arrays = [np.asarray(output) for output in outputs]
    return arrays if all(a.size <= limit for a in arrays) else None


def _names(node: Node, function: Any) -> list[str]:
    """What Python calls the operation's inputs: "axis" for "reduction_indices", say."""
    declared = node.operation.op_def
    attributes = {attribute.name for attribute in declared.attr}
    names = [name for name in signature(function).parameters if name not in attributes]
    own = [argument.name for argument in declared.input_arg]
    others = (name for name in names if name not in own)
    return [name if name in names else next(others, name) for name in own]


def _clamped(node: Node, inputs: list[Token]) -> Any:
    """The smaller one of a known number and one that is never below it."""
    if node.type != "Minimum":
        return None
    for known, other in (inputs, inputs[::-1]):
        if known.constant is not None and other.at_least is not None and np.all(other.at_least >= known.constant):
            return known.constant
    return None


def _shape_of(node: Node, inputs: list[Token]) -> list[np.ndarray]:
    kind = node.dtypes[0].as_numpy_dtype
    if node.type == "Size":
        return [np.asarray(int(np.prod(inputs[0].shape, dtype=np.int64)), kind)]
    if node.type == "Rank":
        return [np.asarray(len(inputs[0].shape), kind)]
    return [np.asarray(token.shape, kind) for token in inputs]


def largest(node: Node, inputs: list[Token]) -> tuple[int, ...] | None:
    """The most that an operation can put out whose output depends on the data; None where that can't be told."""
    if node.type == "Where":
        return (int(np.prod(inputs[0].shape, dtype=np.int64)), len(inputs[0].shape))
    if node.type in ("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"):
        return tuple(inputs[0].shape)
    if node.type in ("UnsortedSegmentSum", "SegmentSum", "SegmentSumV2"):
        return tuple(inputs[0].shape)  # no more segments than rows
    if node.type in ("Slice", "StridedSlice") and not node.attribute("shrink_axis_mask", 0):
        return tuple(inputs[0].shape)
    if node.type in FORWARD_FIRST or node.type in FORWARD_BOTH or node.type in FORWARD_BRANCHES:
        return _broadcast(inputs)
    return None


def _broadcast(inputs: list[Token]) -> tuple[int, ...]:
    """Of sizes that are upper bounds, the larger one on each axis."""
    rank = max(len(token.shape) for token in inputs)
    padded = [(1,) * (rank - len(token.shape)) + tuple(token.shape) for token in inputs]
    return tuple(max(sizes) for sizes in zip(*padded, strict=True))
