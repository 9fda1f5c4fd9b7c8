"""A model file made ready to train, from its configuration alone: no saved weights are read."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
from cases import Case


def compiled(file: Path, case: Case) -> keras.Model:
    """The model as the case wants it: mean squared error, no XLA."""
    if case.precision == "float64":
        keras.config.set_floatx("float64")
    with zipfile.ZipFile(file) as archive:
        config = json.loads(archive.read("config.json"))
    if case.precision != "float32":
        config = _with_policy(config, case.precision)
    model = keras.saving.deserialize_keras_object(config)
    model.compile(optimizer=_optimizer(case), loss="mean_squared_error", jit_compile=False)
    return model


def arrays(model: keras.Model, batch: int) -> tuple[list[Any], list[Any]]:
    """Inputs and targets. Integers are 0 or 1: any embedding has two rows."""
    rng = np.random.default_rng(0)
    inputs = [_array(rng, (batch, *t.shape[1:]), np.dtype(t.dtype)) for t in model.inputs]
    return inputs, [_array(rng, (batch, *t.shape[1:]), np.dtype("float32")) for t in model.outputs]


def one_or_list(values: list[Any]) -> Any:
    return values if len(values) > 1 else values[0]


def _array(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return (rng.integers(0, 2, shape) if dtype.kind in "iu" else rng.random(shape)).astype(dtype)


def _with_policy(tree: Any, precision: str) -> Any:
    """Every dtype policy in the configuration replaced."""
    if isinstance(tree, list):
        return [_with_policy(branch, precision) for branch in tree]
    if not isinstance(tree, dict):
        return tree
    copy = {key: _with_policy(branch, precision) for key, branch in tree.items()}
    policy = copy.get("dtype")
    if isinstance(policy, dict) and "DTypePolicy" in str(policy.get("class_name")):
        copy["dtype"] = precision
    return copy


def _optimizer(case: Case) -> keras.optimizers.Optimizer:
    name, _, rest = case.optimizer.partition(":")
    options = {key: _option(value) for key, _, value in (pair.partition("=") for pair in rest.split(",") if pair)}
    if case.accumulate:
        options["gradient_accumulation_steps"] = case.accumulate
    kinds = {known.lower(): kind for known, kind in vars(keras.optimizers).items() if isinstance(kind, type)}
    return kinds[name](**options)


def _option(text: str) -> bool | float:
    return text == "true" if text in ("true", "false") else float(text)
