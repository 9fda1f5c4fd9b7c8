"""One call of a kernel: the node, what it is given and what it puts out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from planner_app.core.model.trace import Size

if TYPE_CHECKING:
    from planner_app.worker.graph.nodes import Graph, Node
    from planner_app.worker.graph.unroll import Token


@dataclass(frozen=True, slots=True)
class Call:
    node: Node
    inputs: list[Token]
    shapes: list[tuple[int, ...]]
    graph: Graph

    @property
    def dtype(self) -> Any:
        return self.node.dtypes[0]

    def size_of(self, shape: tuple[int, ...], dtype: Any = tf.float32) -> Size:
        return self.graph.size(shape, dtype)

    def input_size(self, place: int) -> Size:
        return self.graph.size(self.inputs[place].shape, self.inputs[place].dtype)

    @property
    def output_size(self) -> Size:
        return self.graph.size(self.shapes[0], self.dtype)


@dataclass(frozen=True, slots=True)
class Scratch:
    """Memory a kernel takes for itself.

    Attributes:
        instead_of: Inputs whose buffer would do instead, if nobody else holds it.
        from_batch: With fewer samples the kernel does without.
        below_batch: With so many samples or more the kernel does without; 0: never.
        unmarked: The allocator is not told that it is scratch.
    """

    size: Size
    instead_of: tuple[int, ...] = ()
    from_batch: int = 0
    below_batch: int = 0
    unmarked: bool = False
