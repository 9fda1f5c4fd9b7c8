"""Small batches may run another graph than large ones.

Grappler moves constants through sums and products, and computes them beforehand, only where what comes out is small
(constant_folding.cc, kMaxConstantSize). A tensor that grows with the batch is small at a batch of 16 and too large at
the batch that is traced with. The same operations may run then, or fewer, and in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from planner_app.core.model.trace import Size
from planner_app.worker.graph.nodes import Graph, is_padded
from planner_app.worker.graph.rebatched import Rebatch
from planner_app.worker.graph.rewrite import rewritten

SMALL_BYTES = 100 << 10  # constant_folding.cc, kMaxConstantSize
MOST_NODES = 8_000  # rewriting a larger graph again takes seconds, and what small tensors do is less of it
# What small batches are followed with, and the prime in each.
CANDIDATES = (
    (56, 7), (44, 11), (52, 13), (34, 17), (38, 19), (46, 23), (58, 29), (62, 31), (37, 37), (41, 41), (43, 43),
    (47, 47), (53, 53), (59, 59), (61, 61),
)  # fmt: skip


def small_batches(step: Callable[[], Any], graph: Graph, target: str) -> tuple[Graph, int] | None:
    """The graph of small batches, and the largest batch that runs it; None where the one that was traced serves all.

    Args:
        step: Makes the graph of the step as it was traced; a rewrite takes it apart.
    """
    chosen = _chosen(graph) if len(graph.nodes) <= MOST_NODES else None
    if chosen is None:
        return None
    batch, prime = chosen
    limits = _limits(graph, batch)
    if not limits:
        return None

    def at(other: int) -> Any:
        return rewritten(Rebatch(graph.batch, graph.prime, other).graph(step()), target)

    try:
        small = at(batch)
    except tf.errors.OpError:  # a size is hidden where it can't be told from other numbers
        return None
    if _is_same(small, graph.definition):
        return None
    low, high = -1, len(limits)  # the graph is the small one up to the limit `low`, and not any more at `high`
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _is_same(small, at(limits[middle])) else (low, middle)
    return Graph(small, batch, prime, target), limits[low] if low >= 0 else batch


def _chosen(graph: Graph) -> tuple[int, int] | None:
    """A small batch, and the prime in it that divides no other size of the graph."""
    if graph.batch % graph.prime:
        return None  # the only batch there is
    sizes = {size for node in graph.nodes for shape in node.shapes for size in shape or () if size}
    others = {size if size % graph.prime else size // graph.prime for size in sizes}
    fixed = {size for size in sizes if size % graph.prime and not graph.grows_beside(size)}

    def stands_out(batch: int, prime: int) -> bool:
        return all(size % prime for size in others) and not any(is_padded(size, batch) for size in fixed)

    return next((each for each in CANDIDATES if stands_out(*each)), None)


def _limits(graph: Graph, least: int) -> list[int]:
    """The batches above which some tensor is not small any more, from the least one on."""
    sizes = {
        graph.size(shape, dtype)
        for node in graph.nodes
        for shape, dtype in zip(node.shapes, node.dtypes, strict=True)
        if shape
    }
    limits = {_last_small(size, graph.batch) for size in sizes if size.at(graph.batch) >= SMALL_BYTES}
    return sorted(limit for limit in limits if limit >= least)


def _last_small(size: Size, traced: int) -> int:
    low, high = 0, traced
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size.at(middle) < SMALL_BYTES else (low, middle)
    return low


def _is_same(one: Any, other: Any) -> bool:
    """The same operations on the same inputs, in the same order: sizes alone don't count."""
    return len(one.node) == len(other.node) and all(
        (a.op, a.name) == (b.op, b.name) and a.input == b.input for a, b in zip(one.node, other.node, strict=True)
    )
