"""Gradients out of a model's own `train_step`, kept until an update is due.

Keras' optimizers can accumulate by themselves, but not under MirroredStrategy. Here the model's train step runs as it
is, only that what it hands to the optimizer is caught. Shares are weighted by their samples, so the sum is the gradient
of the mean over the whole batch, however it was cut up.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from planner_app.errors import PlanError

Pairs = list[tuple[Any, Any]]


class Catcher:
    """Stands in for an optimizer's `apply` while a train step is traced.

    Every replica is traced in a thread of its own, and they take turns in the midst of a step: each has its own list.
    """

    def __init__(self, optimizer: Any) -> None:
        self._optimizer, self._real = optimizer, optimizer.apply
        self._replica = threading.local()

    @contextmanager
    def installed(self) -> Iterator[None]:
        self._optimizer.apply = self._apply
        try:
            yield
        finally:
            del self._optimizer.apply

    def gradients(self, step: Callable[[Any], Any], data: Any) -> tuple[Any, Pairs]:
        """What a train step returns, and the gradients and variables that it would have updated."""
        found: list[Pairs] = []
        self._replica.found = found
        try:
            logs = step(data)
        finally:
            self._replica.found = None
        if len(found) != 1:
            raise PlanError(
                f"The model's train_step updated its optimizer {len(found)} times: to accumulate, expected once."
            )
        return logs, found[0]

    def _apply(self, grads: Sequence[Any], trainable_variables: Sequence[Any] | None = None) -> None:
        found = getattr(self._replica, "found", None)
        if found is None:
            self._real(grads, trainable_variables)
            return
        variables = self._optimizer._trainable_variables if trainable_variables is None else trainable_variables
        found.append(list(zip(grads, variables, strict=True)))


def scaled(grad: Any, weight: Any) -> Any:
    if grad is None:
        return None
    if isinstance(grad, tf.IndexedSlices):
        values = grad.values * tf.cast(weight, grad.values.dtype)
        return tf.IndexedSlices(values, grad.indices, grad.dense_shape)
    return grad * tf.cast(weight, grad.dtype)


class Accumulator:
    """Sums of gradients, on every replica its own: they are reduced over the replicas once, when they are applied."""

    def __init__(self, strategy: Any, variables: Sequence[Any]) -> None:
        self.variables = list(variables)
        with strategy.scope():
            self.sums = [
                tf.Variable(
                    tf.zeros(variable.shape, variable.dtype),
                    trainable=False,
                    synchronization=tf.VariableSynchronization.ON_READ,
                    aggregation=tf.VariableAggregation.SUM,
                    name="accumulated_gradient",
                )
                for variable in self.variables
            ]
        self._place = {_key(variable): n for n, variable in enumerate(self.variables)}
        self._used: set[int] = set()

    def add(self, pairs: Pairs, weight: Any) -> None:
        """In a replica's context: adds gradients, each times the weight of its samples."""
        for grad, variable in pairs:
            if grad is not None:
                place = self._place[_key(variable)]
                self._used.add(place)
                self.sums[place].assign_add(tf.convert_to_tensor(scaled(grad, weight)))

    def apply(self, optimizer: Any) -> None:
        """In a replica's context: one update with the sums, which then start again at zero.

        The zeros come while the update runs: from then on the old sums are the update's alone, which so can work in
        their memory. Zeros afterwards took 6 % more in a model that is all weights.
        """
        # What is read from a variable has no device of its own, and reducing over hosts wants one: identity gives it.
        grads = [tf.identity(each) if n in self._used else None for n, each in enumerate(self.sums)]
        optimizer.apply(grads, self.variables)
        with tf.control_dependencies([grad for grad in grads if grad is not None]):
            for each in self.sums:
                each.assign(tf.zeros(each.shape, each.dtype))

    def clear(self) -> None:
        for each in self.sums:
            for part in getattr(each, "values", (each,)):
                part.assign(tf.zeros(part.shape, part.dtype))


def _key(variable: Any) -> int:
    return id(variable)
