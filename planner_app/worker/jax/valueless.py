"""Keras variables on JAX with a shape, a dtype, a layout and no value, so that a model of any size can be lowered.

Keras itself has variables that are not initialised yet: where one is read, its initializer is called. With one that
makes zeros, a trace has an operation there that no program keeps.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax.numpy as jnp
from keras.src.backend.jax.core import JaxVariable

# Below this many elements a variable costs nothing and keeps its value: counters, learning rates and seeds are read.
SMALLEST_WITHOUT_VALUE = 1024


def _zeros(shape: tuple[int, ...], dtype: str) -> Any:
    return jnp.zeros(shape, dtype)


def _initialize(variable: Any, initializer: Any) -> None:
    variable._initialize_layout()
    if math.prod(variable._shape) < SMALLEST_WITHOUT_VALUE:
        variable._value = variable._convert_to_tensor(initializer(variable._shape, dtype=variable._dtype))
    else:
        variable._value, variable._initializer = None, _zeros


def _assign(variable: Any, value: Any) -> None:
    """Without moving it to the devices of its layout: they need not be there."""
    if math.prod(variable._shape) < SMALLEST_WITHOUT_VALUE:
        variable._value = value
    else:
        variable._value, variable._initializer = None, _zeros


@contextmanager
def without_values() -> Iterator[None]:
    """Variables that Keras makes in here get no memory, whoever makes them: layers, optimizers, metrics."""
    before = JaxVariable._initialize_with_initializer, JaxVariable._direct_assign
    JaxVariable._initialize_with_initializer, JaxVariable._direct_assign = _initialize, _assign
    try:
        yield
    finally:
        JaxVariable._initialize_with_initializer, JaxVariable._direct_assign = before
