"""Steps as people run them: Keras' own training function, on TensorFlow's ordinary threads, on one device or several.

Operations that are ready start in an order that depends on addresses and on who is quicker, so the peak differs from
step to step and from process to process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from planner_app.core.model.setup import Setup
from planner_app.worker.build.inputs import inputs_of, outputs_of
from planner_app.worker.build.synthetic import arrays
from planner_app.worker.graph.step import as_data
from planner_app.worker.measure.exhausted import NoRoom


class AsTrained:
    """A compiled model with its batch on the device, or one batch on each of several."""

    def __init__(self, model: keras.Model, setup: Setup, strategy: Any) -> None:
        self._model, self._setup, self._strategy = model, setup, strategy
        self._data: Any = None

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
        def run() -> None:
            logs = self._model.train_function(iter([self._data]))
            for value in keras.tree.flatten(logs):
                float(value)  # waits until the step is over

        return run

    def fit(self, steps: int) -> Callable[[], None]:
        """One call of `fit` over some batches."""
        share = self._setup.per_gpu_batch * self._setup.gpus
        dataset = tf.data.Dataset.from_tensors(self._batch(share)).repeat(steps)
        return lambda: self._model.fit(dataset, epochs=1, verbose=0)

    def _batch(self, samples: int) -> Any:
        inputs, targets = arrays(self._model, samples)
        names = ([t.name for t in inputs_of(self._model)], [t.name for t in outputs_of(self._model)])
        tensors = [
            [_copied(array, word, name) for array, name in zip(part, some, strict=True)]
            for part, word, some in zip((inputs, targets), ("input", "target of"), names, strict=True)
        ]
        return as_data(self._model, *tensors)


def _copied(array: Any, word: str, layer: str) -> Any:
    """The array on the device. Zeros first, which TensorFlow says it has no room for; a copy it would not survive."""
    if array.dtype.kind != "S":
        try:
            tf.zeros(array.shape, array.dtype)
        except tf.errors.ResourceExhaustedError as error:
            raise NoRoom(f"{word} {layer}", layer, array.shape, str(array.dtype), array.nbytes) from error
    return tf.constant(array)
