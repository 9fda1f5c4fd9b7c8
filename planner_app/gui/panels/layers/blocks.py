"""Blocks of a model: layers in a row whose names begin alike, as conv2_block1_1_conv and conv2_block1_1_bn do."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MOST = 24  # layers in a block; more are several blocks, if their names say so
LEAST = 2
WORD = re.compile(r"[^_/]+[_/]?")


@dataclass(slots=True)
class _Node:
    """A beginning of names, and the layers that have it, by their place in the model."""

    name: str = ""
    layers: list[int] = field(default_factory=list)
    longer: "dict[str, _Node]" = field(default_factory=dict)


def blocks(paths: Sequence[str]) -> dict[str, str]:
    """Of each layer's path, the block's name; layers of no block are left out."""
    root = _Node()
    for place, path in enumerate(paths):
        node = root
        node.layers.append(place)
        for word in WORD.finditer(path):
            begin = path[: word.end()].rstrip("_/")
            node = node.longer.setdefault(begin, _Node(begin))
            node.layers.append(place)
    return {paths[place]: name for name, places in _found(root, whole=True) for place in places}


def _found(node: _Node, *, whole: bool = False) -> Iterator[tuple[str, list[int]]]:
    count = len(node.layers)
    in_a_row = count and node.layers[-1] - node.layers[0] + 1 == count
    if not whole and LEAST <= count <= MOST and in_a_row:
        yield node.name, node.layers
        return
    for longer in node.longer.values():
        yield from _found(longer)


def short_name(path: str, block: str) -> str:
    """A layer's name inside its block."""
    rest = path[len(block) :].lstrip("_/") if block and path.startswith(block) else path
    return rest or path.rpartition("/")[2]
