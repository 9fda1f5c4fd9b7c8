"""Which layer's result goes into which, read from a model's configuration."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Edge = tuple[str, str]  # paths of layers: from, to


def edges(config: Mapping[str, Any]) -> tuple[Edge, ...]:
    """Of a functional or sequential model, nested ones included; empty for others, whose calls are code.

    An edge into a nested model leads to its inputs, one out of it comes from its outputs.
    """
    inner = config.get("config")
    if not isinstance(inner, Mapping):
        return ()
    found = _part("", inner)
    return () if found is None else tuple(dict.fromkeys(found.edges))


@dataclass(frozen=True, slots=True)
class _Part:
    """A model inside another, or the whole: where it is entered and left."""

    entries: tuple[str, ...]
    exits: tuple[str, ...]
    edges: tuple[Edge, ...]


def _part(path: str, config: Mapping[str, Any]) -> _Part | None:
    layers = config.get("layers")
    if not isinstance(layers, Sequence) or isinstance(layers, str):
        return None
    nodes = {_name(layer): _node(path, layer) for layer in layers if isinstance(layer, Mapping) and _name(layer)}
    inside = tuple(edge for node in nodes.values() for edge in node.edges)
    wired = any("inbound_nodes" in layer for layer in layers if isinstance(layer, Mapping))
    if not wired:
        chain = list(nodes.values())
        links = tuple((a, b) for one, other in pairwise(chain) for a in one.exits for b in other.entries)
        return _Part(chain[0].entries if chain else (), chain[-1].exits if chain else (), inside + links)
    links = tuple(
        (start, end)
        for layer in layers
        for source in _sources(layer.get("inbound_nodes"))
        if source in nodes
        for start in nodes[source].exits
        for end in nodes[_name(layer)].entries
    )
    entries = tuple(e for name in _listed(config.get("input_layers")) if name in nodes for e in nodes[name].entries)
    exits = tuple(e for name in _listed(config.get("output_layers")) if name in nodes for e in nodes[name].exits)
    return _Part(entries, exits, inside + links)


def _node(path: str, layer: Mapping[str, Any]) -> _Part:
    own = f"{path}/{_name(layer)}" if path else _name(layer)
    config = layer.get("config")
    part = _part(own, config) if isinstance(config, Mapping) else None
    return _Part((own,), (own,), ()) if part is None or not part.entries else part


def _name(layer: Mapping[str, Any]) -> str:
    config = layer.get("config")
    name = layer.get("name") or (config.get("name") if isinstance(config, Mapping) else "")
    return name if isinstance(name, str) else ""


def _sources(nodes: object) -> Iterator[str]:
    """Names of layers in calls as Keras 3 writes them, or as Keras 2 did: `[name, node, tensor, {...}]`."""
    if isinstance(nodes, Mapping):
        history = nodes.get("keras_history")
        if isinstance(history, Sequence) and history and isinstance(history[0], str):
            yield history[0]
        for value in nodes.values():
            yield from _sources(value)
    elif isinstance(nodes, Sequence) and not isinstance(nodes, str):
        if len(nodes) >= 3 and isinstance(nodes[0], str) and all(isinstance(each, int) for each in nodes[1:3]):
            yield nodes[0]
            nodes = nodes[3:]
        for value in nodes:
            yield from _sources(value)


def _listed(layers: object) -> Iterator[str]:
    """`[name, 0, 0]`, or a list or dictionary of such."""
    yield from _sources(layers)
