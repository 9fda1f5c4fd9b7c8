"""A graph that was traced with one batch, as it would be with another.

The batch traced with has a prime factor that no other size of the model has: every number with that factor is a size
that grows with the batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
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
        """Changes a node: its shape, or a shape that was written down as a constant while tracing."""
        node.attr.pop("_output_shapes", None)
        for attribute in node.attr.values():
            for shape in (attribute.shape, *attribute.list.shape):
                for dimension, size in zip(shape.dim, self.sizes(each.size for each in shape.dim), strict=True):
                    dimension.size = size
        if node.op == "Const":
            self._change(node.attr["value"].tensor)

    def _change(self, tensor: Any) -> None:
        """A constant that holds sizes, or has as many rows as the batch; what those hold is nothing to the memory."""
        shape = tuple(dimension.size for dimension in tensor.tensor_shape.dim)
        grows = self.sizes(shape) != shape
        if not grows and tensor.dtype not in INTEGERS:
            return
        value = tf.make_ndarray(tensor)
        if tensor.dtype in INTEGERS and value.any() and (value % self.prime == 0).any():
            value = np.array(self.sizes(value.reshape(-1)), value.dtype).reshape(shape)
        elif not grows:
            return
        tensor.CopyFrom(tf.make_tensor_proto(np.resize(value, self.sizes(shape))))

    def graph(self, meta: Any) -> Any:
        """A copy of the whole graph."""
        copied = meta_graph_pb2.MetaGraphDef()
        copied.CopyFrom(meta)
        for node in copied.graph_def.node:
            self.node(node)
        return copied
