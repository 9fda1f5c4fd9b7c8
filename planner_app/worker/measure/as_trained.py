"""Steps as people run them: Keras' own training function, on TensorFlow's ordinary threads, on one device or several.

Operations that are ready start in an order that depends on addresses and on who is quicker, so the peak differs from
step to step and from process to process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from planner_app.core.model.setup import Setup
from planner_app.errors import ModelError
from planner_app.worker.measure.exhausted import NoRoom
from planner_app.worker.training.front_end import on_the_host
from planner_app.worker.training.indexed_size import indexed_sizes, indexes_a_size
from planner_app.worker.training.trainable import Trainable


class AsTrained:
    """A compiled model with its batch on the device, or one batch on each of several."""

    def __init__(self, made: Trainable, setup: Setup, strategy: Any) -> None:
        self._model, self._feed = made.model, made.feed
        self._setup, self._strategy = setup, strategy
        self._data: Any = None
        if any(slot.dtype == "string" for slot in self._feed.slots):
            # For as long as this process lives: the training function is traced when it first runs.
            on_the_host(self._model).__enter__()

    def load(self) -> None:
        """The batch lies on the device before the step starts; under a strategy each replica has its own."""
        self._model.make_train_function()
        if self._strategy is None:
            self._data = self._batch(self._setup.per_gpu_batch)
            return
        each = self._batch(self._setup.per_gpu_batch)
        flat = keras.tree.flatten(each)
        spread = [
            self._strategy.experimental_distribute_values_from_function(lambda _, t=tensor: tf.identity(t))
            for tensor in flat
        ]
        self._data = keras.tree.pack_sequence_as(each, spread)

    @property
    def step(self) -> Callable[[], None]:
        @_explained
        def run() -> None:
            logs = self._model.train_function(iter([self._data] * (self._model.steps_per_execution or 1)))
            for value in keras.tree.flatten(logs):
                np.asarray(value)  # waits until the step is over

        return run

    def fit(self, steps: int) -> Callable[[], None]:
        """One call of `fit` over some batches."""
        share = self._setup.per_gpu_batch * self._setup.gpus
        dataset = tf.data.Dataset.from_tensors(_as_tuples(self._batch(share))).repeat(steps)
        return _explained(lambda: self._model.fit(dataset, epochs=1, verbose=0))

    def _batch(self, samples: int) -> Any:
        arrays = keras.tree.flatten(self._feed.arrays(samples))
        slots = keras.tree.flatten(self._feed.structure)
        tensors = [
            None if slot is None else _copied(array, slot.name) for array, slot in zip(arrays, slots, strict=True)
        ]
        return keras.tree.pack_sequence_as(self._feed.structure, tensors)


def _explained(run: Callable[[], Any]) -> Callable[[], None]:
    """Keras hands logs out of its loop in an Optional, which can't be of nothing."""

    def explained() -> None:
        try:
            _run(run)
        except ValueError as error:
            if "OptionalFromValue" not in str(error):
                raise
            raise ModelError(
                f"Keras {keras.__version__} can't train with a train_step that returns no logs: return at least one, "
                'as in {"loss": loss}.'
            ) from error

    return explained


def _run(run: Callable[[], Any]) -> None:
    try:
        run()
    except TypeError as error:
        if not indexes_a_size(error):
            raise
        with indexed_sizes():  # the training function is traced now, and runs as it is from then on
            run()


def _as_tuples(data: Any) -> Any:
    """A dataset takes a list for one tensor."""
    if isinstance(data, dict):
        return {key: _as_tuples(value) for key, value in data.items()}
    return tuple(map(_as_tuples, data)) if isinstance(data, (list, tuple)) else data


def _copied(array: Any, name: str) -> Any:
    """The array on the device. Zeros first, which TensorFlow says it has no room for; a copy it would not survive."""
    if array.dtype.kind not in "SO":
        try:
            tf.zeros(array.shape, array.dtype)
        except tf.errors.ResourceExhaustedError as error:
            part = name.removeprefix("target of ")
            what = name if part != name else f"input {name}"
            raise NoRoom(what, part, array.shape, str(array.dtype), array.nbytes) from error
    return tf.constant(array)
