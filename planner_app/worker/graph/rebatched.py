"""A graph that was traced with one batch, as it would be with another.

The batch traced with has a prime factor that no other size of the model has: every number with that factor is a size
that grows with the batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

INTEGERS = (tf.int32.as_datatype_enum, tf.int64.as_datatype_enum)


@dataclass(frozen=True, slots=True)
class Rebatch:
    """From the `traced` batch, which has the factor `prime`, to `batch`."""

    traced: int
    prime: int
    batch: int

    def sizes(self, given: Iterable[int]) -> tuple[int, ...]:
        return tuple(
            size * self.batch // self.traced if size and size % self.prime == 0 else size for size in map(int, given)
        )

    def node(self, node: Any) -> None:
        """Changes a node: a variable's shape, or a shape that was written down as a constant while tracing."""
        node.attr.pop("_output_shapes", None)
        if node.op == "VarHandleOp":
            shape = node.attr["shape"].shape
            for dimension, size in zip(shape.dim, self.sizes(each.size for each in shape.dim), strict=True):
                dimension.size = size
        elif node.op == "Const" and node.attr["dtype"].type in INTEGERS:
            value = tf.make_ndarray(node.attr["value"].tensor)
            if value.any() and (value % self.prime == 0).any():
                changed = tf.make_tensor_proto(self.sizes(value.reshape(-1)), value.dtype, value.shape)
                node.attr["value"].tensor.CopyFrom(changed)

    def graph(self, meta: Any) -> Any:
        """A copy of the whole graph."""
        copied = meta_graph_pb2.MetaGraphDef()
        copied.CopyFrom(meta)
        for node in copied.graph_def.node:
            self.node(node)
        return copied
