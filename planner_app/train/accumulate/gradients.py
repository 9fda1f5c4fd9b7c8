"""Gradients out of a model's own `train_step`, kept until an update is due.

Keras' optimizers can accumulate by themselves, but not under MirroredStrategy, and they clip each device's gradients
before these are summed. Here the model's train step runs as it is, and what it hands to the optimizer is caught. The
sums over shares and devices are applied once, so that clipping and loss scaling see the gradient of the whole batch.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from planner_app.errors import PlanError

Pairs = list[tuple[Any, Any]]
Rows = dict[str, tuple[Any, Any]]  # of embeddings' gradients, by the variable's place: values and indices
ROWS_BYTES = 64 << 20  # of one embedding's rows may always be kept


class Caught:
    """What a step of one replica hands to its optimizer.

    Attributes:
        weight: The share's part of the batch; None for a whole batch.
        is_weighted: Whether the loss was weighted already, and so the gradients are.
    """

    def __init__(self, weight: Any) -> None:
        self.weight = weight
        self.is_weighted = weight is None
        self.updates: list[Pairs] = []


class Catcher:
    """Stands in for an optimizer's `scale_loss` and `apply` while a train step is traced.

    A share's loss is weighted before its gradients are taken, so that in half precision they have the size that they
    have in the whole batch: neither loss scaling nor rounding sees a difference. A step that does not scale its loss
    has its gradients weighted. Every replica is traced in a thread of its own, and they take turns in the middle of a
    step: each has its own account.
    """

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._real_apply, self._real_scale = (getattr(optimizer, name, None) for name in ("apply", "scale_loss"))
        self._replica = threading.local()

    @contextmanager
    def installed(self) -> Iterator[None]:
        if self._optimizer is None:  # a model that only predicts
            yield
            return
        self._optimizer.apply, self._optimizer.scale_loss = self._apply, self._scale_loss
        try:
            yield
        finally:
            del self._optimizer.apply, self._optimizer.scale_loss

    def gradients(self, step: Callable[[Any], Any], data: Any, weight: Any = None) -> tuple[Any, Pairs]:
        """What a train step returns, and the variables that it would have updated with their weighted gradients."""
        self._replica.caught = caught = Caught(weight)
        try:
            logs = step(data)
        finally:
            self._replica.caught = None
        if len(caught.updates) != 1:
            raise PlanError(
                f"The model's train_step updates its optimizer {len(caught.updates)} times in a step. To accumulate "
                "gradients it must do so exactly once."
            )
        (pairs,) = caught.updates
        return logs, pairs if caught.is_weighted else [(scaled(grad, weight), variable) for grad, variable in pairs]

    def _scale_loss(self, loss: Any) -> Any:
        assert self._real_scale is not None
        loss = self._real_scale(loss)
        caught = getattr(self._replica, "caught", None)
        if caught is None or caught.weight is None:
            return loss
        caught.is_weighted = True
        return loss * tf.cast(caught.weight, loss.dtype)

    def _apply(self, grads: Sequence[Any], trainable_variables: Sequence[Any] | None = None) -> None:
        caught = getattr(self._replica, "caught", None)
        if caught is None:
            assert self._real_apply is not None
            self._real_apply(grads, trainable_variables)
            return
        variables = self._optimizer._trainable_variables if trainable_variables is None else trainable_variables
        caught.updates.append(list(zip(grads, variables, strict=True)))


def scaled(grad: Any, weight: Any) -> Any:
    if grad is None:
        return None
    if isinstance(grad, tf.IndexedSlices):
        values = grad.values * tf.cast(weight, grad.values.dtype)
        return tf.IndexedSlices(values, grad.indices, grad.dense_shape)
    return grad * tf.cast(weight, grad.dtype)


def apply_summed(optimizer: Any, grads: Sequence[Any], variables: Sequence[Any]) -> None:
    """In a replica's context: one update with the sum of all replicas' gradients.

    The sum comes first, so that clipping and the check of loss scaling see it; Keras would sum afterwards.
    """
    context = tf.distribute.get_replica_context()
    if context.num_replicas_in_sync == 1:
        optimizer.apply(list(grads), list(variables))
        return
    # What is read from a variable has no device of its own, and reducing over hosts wants one: identity gives it.
    present = [grad if isinstance(grad, tf.IndexedSlices) else tf.identity(grad) for grad in grads if grad is not None]
    summed = iter(context.all_reduce(tf.distribute.ReduceOp.SUM, present))
    whole = [None if grad is None else next(summed) for grad in grads]
    optimizer.apply(whole, list(variables))


@contextmanager
def summed_before(optimizer: Any) -> Iterator[None]:
    """Around the tracing of `apply_summed`: what is summed over the replicas already is not summed again.

    Nor are weights overwritten with their averages, which TensorFlow can't do within a step of several replicas:
    `overwrite_with_averages` does it after the step.
    """
    parts = _parts(optimizer)
    frequencies = [each.ema_overwrite_frequency for each in parts]
    for each in parts:
        each._all_reduce_sum_gradients, each.ema_overwrite_frequency = list, None
    try:
        yield
    finally:
        for each, frequency in zip(parts, frequencies, strict=True):
            del each._all_reduce_sum_gradients
            each.ema_overwrite_frequency = frequency


def overwrite_with_averages(strategy: Any, optimizer: Any) -> None:
    """After an update of several replicas, where it is due."""
    for each in _parts(optimizer):
        frequency = each.ema_overwrite_frequency if each.use_ema else None
        if frequency and int(each.iterations.numpy()) % frequency == 0:
            pairs = zip(each._trainable_variables, each._model_variables_moving_average, strict=True)
            for variable, average in pairs:
                strategy.extended.update(variable.value, lambda a, b: a.assign(b), args=(average.value,))


def _parts(optimizer: Any) -> list[Any]:
    """The optimizer and those that it wraps: loss scaling, or several for several variables."""
    found, queue = [], [optimizer]
    while queue:
        each = queue.pop()
        found.append(each)
        inner = getattr(each, "inner_optimizer", None)
        queue += [inner] if inner is not None else list(getattr(each, "optimizers", None) or ())
    return found


class Accumulator:
    """Sums of gradients, on every replica its own: they are reduced over the replicas once, when they are applied.

    An embedding's gradient has a row for each word that was looked up, and Keras' optimizers square these rows before
    they add up those of the same word. A sum is not the same to them, so the rows are kept, up to `ROWS_BYTES` of them
    or as many as the sum would take.

    Attributes:
        added_up: Names of embeddings whose rows would take too much: they are added up.
    """

    def __init__(self, strategy: Any, variables: Sequence[Any], global_batch: int) -> None:
        self.variables, self._batch = list(variables), global_batch
        self._place = {_key(variable): n for n, variable in enumerate(self.variables)}
        self._used: set[int] = set()
        self._kept: dict[int, bool] = {}  # by place, for embeddings: whether rows are kept
        self.added_up: list[str] = []
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

    def add(self, pairs: Pairs, samples: int | None) -> Rows:
        """In a replica's context: adds a share's gradients. Gives the rows to keep."""
        kept: Rows = {}
        for grad, variable in pairs:
            if grad is None:
                continue
            place = self._place[_key(variable)]
            self._used.add(place)
            if isinstance(grad, tf.IndexedSlices) and self._keeps(place, grad, samples):
                kept[str(place)] = (grad.values, grad.indices)
            else:
                self.sums[place].assign_add(tf.convert_to_tensor(grad))
        return kept

    def _keeps(self, place: int, grad: Any, samples: int | None) -> bool:
        if place not in self._kept:
            variable = self.variables[place]
            rows = grad.values.shape[0]
            row_bytes = int(grad.values.dtype.size)
            for size in variable.shape[1:]:
                row_bytes *= int(size)
            known = rows is not None and bool(samples)
            most = max(ROWS_BYTES, int(variable.shape[0]) * row_bytes)
            self._kept[place] = known and rows * -(-self._batch // (samples or 1)) * row_bytes <= most
            if not self._kept[place]:
                self.added_up.append(str(getattr(variable, "path", variable.name)))
        return self._kept[place]

    def apply(self, optimizer: Any, rows: Sequence[Rows]) -> None:
        """In a replica's context: one update with the sums, which then start again at zero.

        The zeros come while the update runs: from then on the old sums are the update's alone, which so can work in
        their memory. Zeros afterwards took 6 % more in a model that is all weights.
        """
        grads = []
        for place, each in enumerate(self.sums):
            parts = [step[str(place)] for step in rows if str(place) in step]
            if parts:
                values, indices = (tf.concat(part, 0) for part in zip(*parts, strict=True))
                grads.append(tf.IndexedSlices(values, indices, tf.constant(each.shape.as_list(), tf.int64)))
            else:
                grads.append(tf.identity(each) if place in self._used else None)
        apply_summed(optimizer, grads, self.variables)
        dense = [grad for grad in grads if isinstance(grad, tf.Tensor)]
        with tf.control_dependencies(dense):
            for each in self.sums:
                each.assign(tf.zeros(each.shape, each.dtype))

    def clear(self) -> None:
        for each in self.sums:
            for part in getattr(each, "values", (each,)):
                part.assign(tf.zeros(part.shape, part.dtype))


def _key(variable: Any) -> int:
    return id(variable)
