"""The graph of layers as plain values: blocks folded into one node each, in ranks from inputs to outputs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from planner_app.gui.panels.layers.values import LayerRow

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Node:
    """A layer, or a folded block of them.

    Attributes:
        key: A layer's path, or a block's name in brackets: the two never meet.
        block: The block it is, or the one it belongs to; "" for none.
        layers: How many it stands for.
    """

    key: str
    name: str
    block: str
    layers: tuple[LayerRow, ...]
    rank: int = 0
    column: int = 0

    @property
    def peak_bytes(self) -> int:
        return sum(layer.peak_bytes for layer in self.layers)

    @property
    def folded(self) -> bool:
        return self.key.startswith("[")

    def matches(self, text: str) -> bool:
        return any(layer.matches(text) for layer in self.layers)

    def has(self, layer: str) -> bool:
        return bool(layer) and any(each.path == layer for each in self.layers)


@dataclass(frozen=True, slots=True)
class Graph:
    """`chained` if the model does not say which layer follows which, so that they stand in its order."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    chained: bool = False

    @property
    def most_bytes(self) -> int:
        return max((node.peak_bytes for node in self.nodes), default=0)


def graph(rows: Sequence[LayerRow], edges: Sequence[Edge], unfolded: frozenset[str]) -> Graph:
    layers = [row for row in rows if row.path]
    known = {row.path for row in layers}
    wired = [(start, end) for start, end in edges if start in known and end in known]
    chained = not wired
    if chained:
        wired = [(one.path, other.path) for one, other in pairwise(layers)]
    members: dict[str, list[LayerRow]] = defaultdict(list)
    key_of: dict[str, str] = {}
    for row in layers:
        folded = row.block and row.block not in unfolded
        key_of[row.path] = f"[{row.block}]" if folded else row.path
        members[key_of[row.path]].append(row)
    links = dict.fromkeys((key_of[start], key_of[end]) for start, end in wired if key_of[start] != key_of[end])
    ranks = _ranks(list(members), list(links))
    columns: dict[int, int] = defaultdict(int)
    nodes = []
    for key, of in members.items():
        name = of[0].block if key.startswith("[") else of[0].short
        nodes.append(Node(key, name, of[0].block, tuple(of), ranks[key], columns[ranks[key]]))
        columns[ranks[key]] += 1
    return Graph(tuple(nodes), tuple(links), chained)


def _ranks(keys: Sequence[str], links: Sequence[Edge]) -> Mapping[str, int]:
    """The longest way from an input. In a circle, which folding may make, the model's order decides."""
    place = {key: number for number, key in enumerate(keys)}
    into: dict[str, list[str]] = defaultdict(list)
    for start, end in links:
        if place[start] < place[end]:
            into[end].append(start)
    ranks: dict[str, int] = {}
    for key in keys:
        ranks[key] = 1 + max((ranks[each] for each in into[key]), default=-1)
    return ranks
