"""Keras variables with a shape, a dtype and no value, so that a model of any size can be built and traced.

    with without_values():
        model = keras.Model.from_config(...)
        optimizer.build(model.trainable_variables)

Reading such a variable while tracing is fine: a graph only needs its shape. Code of the user's that calls a layer on
real numbers, or looks at a weight, finds zeros: nothing of ours depends on a weight's value.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow import core
from tensorflow.python.eager import context
from tensorflow.python.ops import resource_variable_ops

# Below this many elements a variable costs nothing and keeps its value: step counters, learning rates and seeds are
# read while a step is traced. 1024 is what the ground truth is measured with.
SMALLEST_WITHOUT_VALUE = 1024
ZEROED_BYTES = 16 << 20  # zeros are written into values up to this size; larger ones come from the system, which zeroes


class _Unfilled(resource_variable_ops.UninitializedVariable):  # type: ignore[misc]
    """Gets its zeros when something outside of a graph asks for them."""

    def _fill(self) -> None:
        if context.executing_eagerly():
            reserve((self,))

    def _read_variable_op(self, no_copy: bool = False) -> Any:
        self._fill()
        return super()._read_variable_op(no_copy)

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        self._fill()
        return super().sparse_read(indices, name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Any:
        self._fill()
        return super().gather_nd(indices, name)

    def assign(self, value: Any, *others: Any, **more: Any) -> Any:
        """What is assigned outside of a graph (a checkpoint, embeddings from a file) is nothing to us but memory."""
        return self if context.executing_eagerly() else super().assign(value, *others, **more)

    def assign_add(self, delta: Any, *others: Any, **more: Any) -> Any:
        return self if context.executing_eagerly() else super().assign_add(delta, *others, **more)

    def assign_sub(self, delta: Any, *others: Any, **more: Any) -> Any:
        return self if context.executing_eagerly() else super().assign_sub(delta, *others, **more)


def _without_value(initialize: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    def initialize_with_initializer(variable: Any, initializer: Any) -> None:
        if math.prod(variable._shape) < SMALLEST_WITHOUT_VALUE:
            initialize(variable, initializer)
            return
        variable._value = _Unfilled(
            shape=tuple(variable._shape),
            dtype=variable._dtype,
            trainable=variable.trainable,
            name=variable.name,
            **_shared(variable),
        )

    return initialize_with_initializer


def _shared(variable: Any) -> dict[str, Any]:
    """How replicas share it: Keras passes the one on since 3.7, the other since 3.10."""
    known = (name for name in ("aggregation", "synchronization") if hasattr(variable, f"_map_{name}"))
    return {name: getattr(variable, f"_map_{name}")(getattr(variable, name)) for name in known}


@contextmanager
def without_values() -> Iterator[None]:
    """Variables that Keras makes in here get no memory, whoever makes them: layers, optimizers, metrics."""
    before = core.Variable._initialize_with_initializer
    core.Variable._initialize_with_initializer = _without_value(before)
    try:
        yield
    finally:
        core.Variable._initialize_with_initializer = before


def reserve(variables: Iterable[Any]) -> None:
    """Something to find where a value would be, for who insists on one without looking at it.

    `Empty` asks for memory and does not touch it, so the system gives none; and all variables of one shape share it.
    """
    rooms: dict[Any, Any] = {}
    for variable in variables:
        if bool(tf.raw_ops.VarIsInitializedOp(resource=variable.handle)):
            continue
        key = (tuple(variable.shape), variable.dtype)
        if key not in rooms:
            small = variable.shape.num_elements() * variable.dtype.size <= ZEROED_BYTES
            rooms[key] = tf.raw_ops.Empty(shape=variable.shape.as_list(), dtype=variable.dtype, init=small)
        tf.raw_ops.AssignVariableOp(resource=variable.handle, value=rooms[key])
