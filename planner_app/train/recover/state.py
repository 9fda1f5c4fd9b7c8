"""What a step that runs out of memory can leave half done, and how it is put back.

TensorFlow updates a weight as soon as its gradient is there, so a step that fails late has changed some weights and
others not. Two kinds of steps, two ways to have the old state back:

    accumulating    statistics, seeds and metrics: their old values are held during the step, weights are only read
    plain           everything: a copy in host memory, taken now and then, and the batches since

A program compiled by XLA writes variables last, but takes over their memory before it asks for its own: when it fails
they point to memory that is no longer theirs, and TensorFlow 2.21 crashes at the next touch. A variable whose value is
held is left alone. So the first step of every shape holds them all; it needs the memory of all later ones and more.
"""

import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from planner_app.files.host import available_bytes
from planner_app.train.building import optimizers_of

SMALL_BYTES = 1 << 20  # statistics and seeds are vectors; a larger variable that is not trained is a frozen weight
SHARE_OF_HOST = 0.25  # of what is free may a copy of all variables take
LOG_BYTES = 256 << 20  # of batches kept to be trained again
LOG_STEPS = 50
COPYING_SHARE = 0.01  # of the time may go into copies


def small_state(strategy: Any, model: Any) -> list[Any]:
    """Variables other than weights that a step changes, each replica's own."""
    found = [*model.non_trainable_variables, *model.metrics_variables]
    return [part for part in parts_of(strategy, found) if _bytes(part) <= SMALL_BYTES]


def metrics_state(strategy: Any, model: Any) -> list[Any]:
    """Variables that a test step changes."""
    return parts_of(strategy, list(model.metrics_variables))


def all_state(strategy: Any, model: Any) -> list[list[Any]]:
    """Every variable as the list of its replicas on this host, where they are all the same; else each by itself."""
    found = []
    optimizers = [variable for each in optimizers_of(model) for variable in each.variables]
    for variable in _unique([*model.variables, *optimizers, *model.metrics_variables]):
        parts = list(strategy.experimental_local_results(variable))
        own = getattr(variable, "synchronization", None) is tf.VariableSynchronization.ON_READ
        found += [[part] for part in parts] if own else [parts]
    return found


class Held:
    """The old values of variables, by reference: while we hold them, TensorFlow writes new ones elsewhere."""

    def __init__(self, variables: list[Any]) -> None:
        self._variables = variables
        self._read = tf.function(lambda: [variable.read_value() for variable in variables], autograph=False)
        self._read._omit_frequent_tracing_warning = True  # one for each model, which TensorFlow would take for one
        self._values: list[Any] = []

    def take(self) -> None:
        self._values = self._read() if self._variables else []

    def restore(self) -> None:
        for variable, value in zip(self._variables, self._values, strict=False):
            variable.assign(value)
        self.drop()

    def drop(self) -> None:
        self._values = []


class Copied:
    """All variables in host memory, and the batches that were trained since."""

    def __init__(self, variables: list[list[Any]]) -> None:
        self._variables = variables
        self._values: list[np.ndarray[Any, Any]] | None = None
        self._log: list[Any] = []
        self._log_bytes = 0
        self._most = LOG_STEPS
        self._taken = self._cost = 0.0
        free = available_bytes()
        self.possible = free is None or sum(_bytes(parts[0]) for parts in variables) <= free * SHARE_OF_HOST

    def before(self, batch: Any) -> None:
        """Called before each step with what it trains."""
        if not self.possible:
            return
        if self._values is None or len(self._log) >= self._most or self._log_bytes > LOG_BYTES:
            self._take()
        self._log.append(batch)
        self._log_bytes += sum(int(part.nbytes) for part in tf.nest.flatten(batch) if hasattr(part, "nbytes"))

    def _take(self) -> None:
        started = time.monotonic()
        if self._log:  # copy so rarely that it takes no more than its share of the time
            step = (started - self._taken) / len(self._log)
            self._most = max(LOG_STEPS, int(self._cost / (COPYING_SHARE * max(step, 1e-6))))
        self._values = [np.array(parts[0].numpy()) for parts in self._variables]
        self._log, self._log_bytes = [], 0
        self._taken = time.monotonic()
        self._cost = self._taken - started

    def forget(self) -> None:
        """What comes now starts from the state as it is: a new epoch, with metrics at zero."""
        self._values, self._log, self._log_bytes = None, [], 0

    def restore(self) -> list[Any]:
        """Everything as it was at the copy. The answer is what to train again, last the batch that failed."""
        for parts, value in zip(self._variables, self._values or [], strict=False):
            for part in parts:
                part.assign(value)
        again = list(self._log)
        self.forget()
        return again


def parts_of(strategy: Any, variables: list[Any]) -> list[Any]:
    """One for each replica of this host."""
    return [part for variable in _unique(variables) for part in strategy.experimental_local_results(variable)]


def _unique(variables: list[Any]) -> list[Any]:
    """The TensorFlow variables behind Keras' own, each once."""
    found = {id(variable): variable for variable in variables}
    return [each.value if isinstance(each, keras.Variable) else each for each in found.values()]


def _bytes(variable: Any) -> int:
    return int(np.prod(variable.shape)) * int(variable.dtype.size)
