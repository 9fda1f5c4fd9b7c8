"""A batch of made-up samples that a model can be trained on: of the right shapes and dtypes, and of words it knows."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from planner_app.worker.build.inputs import inputs_of, outputs_of
from planner_app.worker.graph.step import batch_specs

TWO = 2  # of integers about which nothing is known: every table has two rows, every flag two states


def arrays(model: keras.Model, batch: int) -> tuple[list[Any], list[Any]]:
    """Inputs and targets, the same in every process."""
    rng = np.random.default_rng(0)
    xs, ys = batch_specs(model, batch)
    known = _vocabularies(model)
    inputs = [_array(rng, spec, known.get(t.name, TWO)) for spec, t in zip(xs, inputs_of(model), strict=True)]
    targets = [
        _array(rng, spec, int(output.shape[-1] or TWO)) for spec, output in zip(ys, outputs_of(model), strict=True)
    ]
    return inputs, targets


def _array(rng: np.random.Generator, spec: Any, different: int) -> Any:
    """`different` is how many different integers there are; real numbers lie between 0 and 1."""
    if spec.dtype.name == "string":
        return np.full(spec.shape, b"word")
    dtype = spec.dtype.as_numpy_dtype
    if spec.dtype.is_bool:
        return rng.integers(0, TWO, spec.shape).astype(dtype)
    if spec.dtype.is_integer:
        most = min(different, int(np.iinfo(dtype).max))
        return rng.integers(0, most, spec.shape).astype(dtype)
    return rng.random(spec.shape, dtype="float32").astype(dtype)


def _vocabularies(model: keras.Model) -> dict[str, int]:
    """For each input the rows of the smallest table that it, or something made of it, is looked up in."""
    if not getattr(model, "inputs", None):
        smallest = min((rows for layer in model._flatten_layers() if (rows := _rows(layer))), default=TWO)
        return {t.name: smallest for t in inputs_of(model)}
    return {t.name: _reached(model, tensor) for t, tensor in zip(inputs_of(model), model.inputs, strict=True)}


def _reached(model: keras.Model, start: Any) -> int:
    """Follows a tensor through the model's layers up to the tables; what comes out of one is no index any more."""
    tensors, found = {id(start)}, []
    by_depth = (getattr(model, "_functional", None) or model)._nodes_by_depth  # a Sequential keeps a model inside
    for depth in sorted(by_depth, reverse=True):
        for node in by_depth[depth]:
            if not any(id(t) in tensors for t in node.input_tensors):
                continue
            tables = [rows for layer in _inside(node.operation) if (rows := _rows(layer))]
            if tables:
                found.append(min(tables))
            else:
                tensors.update(id(t) for t in node.outputs)
    return min(found, default=TWO)


def _inside(operation: Any) -> list[Any]:
    return operation._flatten_layers() if isinstance(operation, keras.layers.Layer) else [operation]


def _rows(layer: Any) -> int:
    """How many different integers a layer takes; 0 for one that takes anything."""
    if isinstance(layer, keras.layers.Embedding):
        return int(layer.input_dim)
    if isinstance(layer, keras.layers.CategoryEncoding):
        return int(layer.num_tokens or 0)
    return 0
