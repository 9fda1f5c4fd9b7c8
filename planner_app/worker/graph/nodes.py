"""A rewritten graph as the executor sees it: nodes in its order, edges, static shapes, sizes over the batch."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import tensorflow as tf

from planner_app.core.model.setup import HOPPER
from planner_app.core.model.trace import Size
from planner_app.worker.graph.imported import imported

# A constant larger than this is never needed for its content: it is not a shape, index or loop bound.
LARGEST_KNOWN_CONSTANT = 4096
MOST_PADDED = 4
TEXT_BYTES = 24  # sizeof(tstring), which lies in the allocator's memory; a long text is elsewhere


@dataclass(slots=True)
class Node:
    """One node. Edges are kept on both sides: `inputs` in slot order, `readers` in the order they are told."""

    id: int
    name: str
    type: str
    definition: Any
    inputs: list[tuple[int, int]] = field(default_factory=list)
    controls: list[int] = field(default_factory=list)
    readers: list[tuple[int, int, int]] = field(default_factory=list)  # (reader, its slot, my port)
    followers: list[int] = field(default_factory=list)
    shapes: list[tuple[int, ...] | None] = field(default_factory=list)
    dtypes: list[Any] = field(default_factory=list)
    constant: np.ndarray | None = None

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.operation.get_attr(name) if name in self.definition.attr else default

    operation: Any = None


class Graph:
    """The nodes in executor order, and how bytes grow with the batch.

    The step was traced with a batch that has a prime factor which no other dimension has. A size divisible by it once
    grows with the batch, twice with its square; all others do not grow at all.

    Attributes:
        definition: As Grappler left it.
        batch: The batch traced with.
        on_gpu: Integers that steer the step live in the host's memory, not the device's.
        capability: The GPU's compute capability; 0 for the CPU.
    """

    def __init__(self, definition: Any, batch: int, prime: int, target: str, xla: bool = False) -> None:
        self.definition, self.batch, self.prime, self.xla = definition, batch, prime, xla
        self._set_target(target)
        self._sizes: dict[int, Size] = {}
        self.nodes: list[Node] = []
        operations = imported(definition)
        order = _constructor_order(definition)
        number = {definition.node[index].name: place for place, index in enumerate(order)}
        self.nodes = [
            self._node(place, definition.node[index], operations, number) for place, index in enumerate(order)
        ]
        for node in self.nodes:
            for slot, (source, port) in enumerate(node.inputs):
                self.nodes[source].readers.append((node.id, slot, port))
            for source in node.controls:
                self.nodes[source].followers.append(node.id)
        self._sums = dict(self._summed())

    def on(self, target: str) -> Graph:
        """The same graph on another GPU."""
        other = copy(self)
        other._set_target(target)
        return other

    def _set_target(self, target: str) -> None:
        self.on_gpu = target != "cpu"
        self.capability = float(target.partition(":")[2] or 0)

    def turns_pictures(self, dtype: Any) -> bool:
        """layout_assignment.cc, HeuristicLayoutAssignment: whether XLA gives cuDNN pictures with the channels first."""
        return dtype == tf.float64 or (self.capability < HOPPER and dtype == tf.float32)

    def _node(self, place: int, definition: Any, operations: dict[str, Any], number: dict[str, int]) -> Node:
        operation = operations[definition.name]
        node = Node(place, definition.name, definition.op, definition, operation=operation)
        for text in definition.input:
            if text[0] == "^":
                node.controls.append(number[text[1:]])
            else:
                name, _, port = text.partition(":")
                node.inputs.append((number[name], int(port or 0)))
        for output in operation.outputs:
            shape = output.shape
            node.shapes.append(tuple(shape.as_list()) if shape.is_fully_defined() else None)
            node.dtypes.append(output.dtype.base_dtype)
        if node.type == "Const":
            elements = int(np.prod(node.shapes[0] or (1,), dtype=np.int64))
            if elements <= LARGEST_KNOWN_CONSTANT:
                node.constant = tf.make_ndarray(definition.attr["value"].tensor)
        return node

    def size(self, shape: tuple[int, ...], dtype: Any) -> Size:
        if self.on_gpu and dtype in (tf.int32, tf.string):
            return Size()  # GPU kernels for int32 are registered with HostMemory, and for texts there are none
        item = TEXT_BYTES if dtype == tf.string else dtype.size
        if any(map(self.grows_beside, shape)):
            return self._product(shape, item)
        total = item
        for dimension in shape:
            total *= dimension
        size = self._sizes.get(total)
        if size is None:
            size = self._sizes[total] = self.over_batch(total)
        return size

    def _summed(self) -> Iterator[tuple[int, tuple[Fraction, int]]]:
        """Sizes that are the batch's and others added up, as where a queue of earlier samples is joined to a batch."""
        for node in self.nodes:
            if node.type != "ConcatV2" or not node.shapes[0]:
                continue
            joined = [self.nodes[source].shapes[port] for source, port in node.inputs[:-1]]
            for axis, total in enumerate(node.shapes[0]):
                sizes = [shape[axis] for shape in joined if shape]
                grown = sum(size for size in sizes if size % self.prime == 0)
                if sum(sizes) == total and 0 < grown < total:
                    yield total, (Fraction(grown, self.batch), total - grown)

    def grows_beside(self, dimension: int) -> bool:
        """Whether a size is the batch's and a part that does not grow."""
        return dimension in self._sums or is_padded(dimension, self.batch)

    def _product(self, shape: tuple[int, ...], item: int) -> Size:
        """Sizes where some dimension is a multiple of the batch and a little more, multiplied out."""
        total = [Fraction(item), Fraction(0), Fraction(0)]
        for dimension in shape:
            if dimension in self._sums:
                rows, more = self._sums[dimension]
            elif is_padded(dimension, self.batch):
                rows, more = Fraction(dimension // self.batch), dimension % self.batch
            else:
                grows = dimension % self.prime == 0
                rows, more = (Fraction(dimension, self.batch), 0) if grows else (Fraction(0), dimension)
            total = [
                total[0] * more,
                total[1] * more + total[0] * rows,
                total[2] * more + total[1] * rows,
            ]
        return Size(*(ceil(part) for part in total))

    def over_batch(self, total: int) -> Size:
        """A total at the traced batch, as it grows with the batch."""
        rest, power = total, 0
        while rest and rest % self.prime == 0 and power < 2:
            rest, power = rest // self.prime, power + 1
        coefficient = -(-total // self.batch**power)
        return Size(*(coefficient if power == p else 0 for p in range(3)))


def is_padded(dimension: int, batch: int) -> bool:
    """A few rows beside those of the batch: a row of zeros before the values of a sparse gradient, say."""
    return dimension > batch and 0 < dimension % batch <= MOST_PADDED


def _constructor_order(definition: Any) -> list[int]:
    """graph_constructor.cc: of the nodes whose inputs are all made, the one that stands first in the file comes next.

    The executor starts its roots, and tells an operation's readers, in the order in which nodes were made. A loop's
    back edge (a NextIteration into a Merge) is not waited for.
    """
    index = {node.name: place for place, node in enumerate(definition.node)}
    readers: list[list[int]] = [[] for _ in definition.node]
    pending = [0] * len(definition.node)
    for place, node in enumerate(definition.node):
        for text in node.input:
            source = index[text.lstrip("^").partition(":")[0]]
            if node.op == "Merge" and definition.node[source].op == "NextIteration":
                continue
            readers[source].append(place)
            pending[place] += 1
    ready = [place for place, count in enumerate(pending) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        place = heapq.heappop(ready)
        order.append(place)
        for reader in readers[place]:
            pending[reader] -= 1
            if pending[reader] == 0:
                heapq.heappush(ready, reader)
    return order
