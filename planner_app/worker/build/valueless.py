"""Keras variables with a shape, a dtype and no value, so that a model of any size can be built and traced.

    with without_values():
        model = keras.Model.from_config(...)
        optimizer.build(model.trainable_variables)

Reading such a variable while tracing is fine (a graph only needs its shape); reading its value is an error of
TensorFlow's, which is what we want: nothing of ours may depend on a weight's value.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow import core
from tensorflow.python.ops import resource_variable_ops

# Below this many elements a variable costs nothing and keeps its value: step counters, learning rates and seeds are
# read while a step is traced. 1024 is what the ground truth is measured with.
SMALLEST_WITHOUT_VALUE = 1024


def _without_value(initialize: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    def initialize_with_initializer(variable: Any, initializer: Any) -> None:
        if math.prod(variable._shape) < SMALLEST_WITHOUT_VALUE:
            initialize(variable, initializer)
            return
        variable._value = resource_variable_ops.UninitializedVariable(
            shape=tuple(variable._shape),
            dtype=variable._dtype,
            trainable=variable.trainable,
            name=variable.name,
            aggregation=variable._map_aggregation(variable.aggregation),
            synchronization=variable._map_synchronization(variable.synchronization),
        )

    return initialize_with_initializer


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
            rooms[key] = tf.raw_ops.Empty(shape=variable.shape.as_list(), dtype=variable.dtype, init=False)
        tf.raw_ops.AssignVariableOp(resource=variable.handle, value=rooms[key])
