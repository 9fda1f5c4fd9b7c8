"""Shapes of a model's results on TensorFlow: traced, never run."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

FAILURES: Any = (  # of a call that does not fit the model, which is code of its author's
    NotImplementedError, ValueError, TypeError, LookupError, AttributeError, AssertionError, RuntimeError,
    tf.errors.OpError,
)  # fmt: skip


def spec(shape: tuple[int, ...], dtype: str) -> Any:
    """Stands for a tensor that a step is given."""
    return tf.TensorSpec(shape, dtype)


def output_shapes(function: Callable[[Any], Any], specs: Any) -> list[tuple[int, ...]]:
    """Of a function of the model, called with tensors like these."""
    traced = tf.function(function, autograph=False).get_concrete_function(specs)
    return [tuple(tensor.shape) for tensor in traced.outputs]
