"""Shapes of a model's results on JAX: traced, never run."""

from collections.abc import Callable
from typing import Any

import jax
import keras
from keras.src import backend

FAILURES: Any = (  # of a call that does not fit the model, which is code of its author's
    NotImplementedError, ValueError, TypeError, LookupError, AttributeError, AssertionError, RuntimeError,
    jax.errors.JaxRuntimeError,
)  # fmt: skip


def spec(shape: tuple[int, ...], dtype: str) -> Any:
    """Stands for an array that a step is given."""
    return jax.ShapeDtypeStruct(shape, keras.backend.standardize_dtype(dtype))  # type: ignore[no-untyped-call]


def output_shapes(function: Callable[[Any], Any], specs: Any) -> list[tuple[int, ...]]:
    """Of a function of the model, called with arrays like these."""
    found = backend.compute_output_spec(function, jax.tree.map(_symbolic, specs))
    return [tuple(tensor.shape) for tensor in keras.tree.flatten(found)]


def _symbolic(leaf: Any) -> Any:
    return keras.KerasTensor(leaf.shape, keras.backend.standardize_dtype(leaf.dtype))
