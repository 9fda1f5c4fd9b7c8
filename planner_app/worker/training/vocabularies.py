"""How many different integers each input may hold: the rows of the tables that they are looked up in."""

from __future__ import annotations

from typing import Any

import keras

from planner_app.worker.build.inputs import inputs_of
from planner_app.worker.training.feed import TWO


def vocabularies(model: keras.Model) -> dict[str, int]:
    """For each input the rows of the smallest table that it, or something made of it, is looked up in."""
    if not getattr(model, "inputs", None):
        smallest = min((rows for layer in model._flatten_layers() if (rows := _rows(layer))), default=TWO)
        return {t.name: smallest for t in inputs_of(model)}
    return {t.name: _reached(model, tensor) for t, tensor in zip(inputs_of(model), model.inputs, strict=True)}


def _reached(model: keras.Model, start: Any) -> int:
    """Follows a tensor through the model's layers up to the tables; what comes out of one is not an index any more."""
    tensors, found = {id(start)}, []
    by_depth = (getattr(model, "_functional", None) or model)._nodes_by_depth  # a Sequential keeps a model inside
    for depth in sorted(by_depth, reverse=True):
        for node in by_depth[depth]:
            if not any(id(t) in tensors for t in node.input_tensors):
                continue
            tables = [rows for layer in _inside(node.operation) if (rows := _rows(layer))]
            if tables and _is_beside(node, tensors):
                found.append(TWO)  # which rows or positions it picks, and of what, only the layer's code says
            elif tables:
                found.append(min(tables))
            else:
                tensors.update(id(t) for t in node.outputs)
    return min(found, default=TWO)


def _is_beside(node: Any, tensors: set[int]) -> bool:
    """Whether a layer that is not a graph takes them as another argument than its first."""
    if isinstance(node.operation, keras.Model) or not node.input_tensors:
        return False
    return id(node.input_tensors[0]) not in tensors


def _inside(operation: Any) -> list[Any]:
    return operation._flatten_layers() if isinstance(operation, keras.layers.Layer) else [operation]


def _rows(layer: Any) -> int:
    """How many different integers a layer takes; 0 for one that takes anything."""
    if isinstance(layer, keras.layers.Embedding):
        return int(layer.input_dim)
    if isinstance(layer, keras.layers.CategoryEncoding):
        return int(layer.num_tokens or 0)
    return 0
