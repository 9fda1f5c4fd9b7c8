"""The functions of one rung, each traced when it is first called: a step of every replica on its share."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import keras
import tensorflow as tf
from keras.src.trainers.data_adapters.data_adapter_utils import unpack_x_y_sample_weight

from planner_app.train.accumulate.gradients import Accumulator, Catcher, Rows, apply_summed, summed_before
from planner_app.train.accumulate.ledger import Ledger, Sums, active, at_once, installed, keeping, own_loss
from planner_app.train.accumulate.logs import LogKinds, heard, kinds_of

COMPUTE_LOSS = keras.Model.compute_loss.__qualname__


class Added(NamedTuple):
    """What is left of a share whose gradients were added to the sums."""

    logs: Any
    rows: Rows


class Steps:
    """Attributes:
    needs_data: By whether it trains: whether divisors depend on the data; known after the first count.
    log_kinds: By whether it trains: which logs are metrics' results; known after a step.
    """

    def __init__(self, model: Any, strategy: Any, kinds: Sums, sums: Accumulator | None) -> None:
        self._model, self._strategy, self._kinds, self._sums = model, strategy, kinds, sums
        self._catcher = Catcher(getattr(model, "optimizer", None))
        self._several = int(strategy.num_replicas_in_sync) > 1
        self.needs_data: dict[bool, bool] = {}
        self.log_kinds: dict[bool, LogKinds] = {}
        compiled = bool(model.jit_compile)
        self.plain = self._function(self._at_once(model.train_step), compiled)
        self.plain_test = self._function(self._at_once(model.test_step), compiled)
        self.predict = self._function(model.predict_step, compiled, None, training=False)
        self.update = self._function(self._update, compiled)
        # A count is a handful of numbers out of a forward pass that is hardly run: not worth a compiler's time.
        self._counts = {training: self._function(self._counter(training), False, "sum") for training in (True, False)}
        self._shares = {
            (name, guarded): self._function(
                self._guarded(step) if guarded else step,
                compiled,
                lambda training=name != "test": self.log_kinds[training].own,
            )
            for name, step in (("add", self._add), ("once", self._once), ("test", self._test))
            for guarded in (False, True)
        }

    def count(self, data: Any, weight: Any, training: bool) -> Sequence[Any]:
        """What the losses of a share divide by, summed over the replicas."""
        return tuple(self._counts[training](data, weight))

    def add(self, data: Any, whole: Sequence[Any], guarded: bool) -> Added:
        """Adds a share's gradients to the sums."""
        return Added(*self._shares["add", guarded](data, *whole))

    def once(self, data: Any, whole: Sequence[Any], guarded: bool) -> Any:
        """A whole batch on all replicas at once, and the update."""
        return self._shares["once", guarded](data, *whole)

    def test(self, data: Any, whole: Sequence[Any], guarded: bool) -> Any:
        return self._shares["test", guarded](data, *whole)

    def _function(self, step: Callable[..., Any], compiled: bool, reduce: Any = "mean", training: bool = True) -> Any:
        def all_replicas(*given: Any) -> Any:
            summed = summed_before(self._model.optimizer) if self._several and training else nullcontext()
            with installed(), heard(self._model), _own_loss(self._model), self._catcher.installed(), summed:
                found = self._strategy.run(step, args=given)
                return self._reduced(found, reduce() if callable(reduce) else reduce)

        wrapped = tf.autograph.experimental.do_not_convert(all_replicas)
        if self._model.run_eagerly:
            return wrapped
        function = tf.function(wrapped, reduce_retracing=True, jit_compile=compiled)
        # All functions of all rungs have this one's code, so TensorFlow would take them for one that is traced anew.
        function._omit_frequent_tracing_warning = True
        return function

    def _reduced(self, found: Any, how: str | frozenset[str] | None) -> Any:
        """Over all replicas: by their sum or mean, or logs by the names of those that are parts of a sum."""
        if not self._several or found is None or how is None:
            return found
        if isinstance(found, Added):
            return Added(self._reduced(found.logs, how), found.rows)
        if isinstance(how, frozenset) and isinstance(found, dict):
            return {name: self._reduced(value, "sum" if name in how else "mean") for name, value in found.items()}
        chosen = tf.distribute.ReduceOp.SUM if how == "sum" else tf.distribute.ReduceOp.MEAN
        return tf.nest.map_structure(lambda value: self._strategy.reduce(chosen, value, axis=None), found)

    def _at_once(self, step: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A whole batch in one share."""

        def whole(data: Any) -> Any:
            with at_once(self._output_trackers):
                return step(data)

        return whole

    def _ledger(self, weight: Any = None, divisors: Sequence[Any] | None = None) -> Ledger:
        tracker = self._model._loss_tracker
        return Ledger(weight, divisors, self._kinds, loss_tracker=tracker, output_trackers=self._output_trackers)

    @property
    def _output_trackers(self) -> tuple[Any, ...]:
        """Metrics of each output's own loss."""
        loss = getattr(self._model, "_compile_loss", None)
        return tuple(loss.metrics) if loss is not None else ()

    def _counter(self, training: bool) -> Callable[[Any, Any], Any]:
        """Without effect: what the forward pass would assign, and what the answer does not need, is left out."""

        def count(data: Any, weight: Any) -> Any:
            with keeping(self._ledger()) as ledger, without_effect(self._model):
                forward(self._model, data, training, self._catcher)
            self.needs_data[training] = self.needs_data.get(training, False) or ledger.needs_data
            present = tf.cast(weight > 0, tf.float32)  # a share that only keeps a replica busy counts nothing
            return [tf.cast(each, tf.float32) * present for each in ledger.counted]

        return count

    def _gradients(self, data: Any, weight: Any, divisors: Sequence[Any]) -> tuple[Any, Any]:
        with keeping(self._ledger(weight, divisors)) as ledger:
            logs, pairs = self._catcher.gradients(self._model.train_step, data, weight)
        return self._logs(logs, ledger, training=True), pairs

    def _add(self, data: Any, weight: Any, *divisors: Any) -> Any:
        logs, pairs = self._gradients(data, weight, divisors)
        assert self._sums is not None
        first = next(each for each in tf.nest.flatten(data) if each is not None)
        return Added(logs, self._sums.add(pairs, first.shape[0]))

    def _once(self, data: Any, weight: Any, *divisors: Any) -> Any:
        logs, pairs = self._gradients(data, weight, divisors)
        apply_summed(self._model.optimizer, [grad for grad, _ in pairs], [each for _, each in pairs])
        return logs

    def _test(self, data: Any, weight: Any, *divisors: Any) -> Any:
        with keeping(self._ledger(weight, divisors)) as ledger:
            logs = self._model.test_step(data)
        return self._logs(logs, ledger, training=False)

    def _update(self, rows: Sequence[Rows]) -> None:
        assert self._sums is not None
        self._sums.apply(self._model.optimizer, rows)

    def _guarded(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """With a share that only keeps its replica busy: its sample counts in no metric."""

        def guarded(data: Any, weight: Any, *whole: Any) -> Any:
            metrics = [each.value for each in self._model.metrics_variables]
            before = [tf.identity(each) for each in metrics]
            found = step(data, weight, *whole)
            for each, old in zip(metrics, before, strict=True):
                each.assign(tf.where(weight > 0, tf.identity(each), old))
            return found

        return guarded

    def _logs(self, logs: Any, ledger: Ledger, training: bool) -> Any:
        """Results of metrics are of all shares so far; numbers of the model's own are the share's part of the sum."""
        logs = _flat(logs)
        self.log_kinds[training] = kinds = kinds_of(logs, ledger)
        # A metric may give its variable, which has no device of its own: reducing over hosts wants one.
        logs = tf.nest.map_structure(tf.identity, logs)
        parts = {name: _part(logs[name], ledger.weight) for name in kinds.own}
        return {**logs, **parts} if parts else logs


def _part(value: Any, weight: Any) -> Any:
    """Of a mean over samples. A whole number's part is not a whole number."""
    if not value.dtype.is_floating:
        value = tf.cast(value, tf.float32)
    return value * tf.cast(weight, value.dtype)


def _flat(logs: Any) -> Any:
    """Without groups: a step may return Keras' group of compiled metrics as one entry, which holds them by name."""
    if not isinstance(logs, dict):
        return logs
    groups = [value if isinstance(value, dict) else {name: value} for name, value in logs.items()]
    return {name: value for group in groups for name, value in group.items()}


def without_effect(model: Any) -> Any:
    """What is assigned inside is forgotten. Regularizers read their weights in the scope, so it must know them."""
    known = [(each, each.value) for each in model.trainable_variables if each.regularizer is not None]
    return keras.StatelessScope(state_mapping=known, collect_losses=True)


def forward(model: Any, data: Any, training: bool, catcher: Catcher | None = None) -> Any:
    """The loss of a batch as the model's own step finds it; nothing is updated."""
    kind = type(model)
    if training and catcher is not None and kind.train_step is not keras.Model.train_step:
        return catcher.gradients(model.train_step, data)
    if not training and kind.test_step is not keras.Model.test_step:
        return model.test_step(data)
    x, y, sample_weight = unpack_x_y_sample_weight(data)
    predicted = model(x, training=training) if model._call_has_training_arg else model(x)
    return model._compute_loss(x=x, y=y, y_pred=predicted, sample_weight=sample_weight, training=training)


@contextmanager
def _own_loss(model: Any) -> Iterator[None]:
    """Where the model has its own `compute_loss`, what it adds by itself is weighted as the probe says."""
    if not has_own_loss(model):
        yield
        return
    real = model.compute_loss

    def compute_loss(*args: Any, **kwargs: Any) -> Any:
        value, ledger = real(*args, **kwargs), active()
        return value if ledger is None else own_loss(ledger, value)

    object.__setattr__(model, "compute_loss", compute_loss)
    try:
        yield
    finally:
        object.__delattr__(model, "compute_loss")


def has_own_loss(model: Any) -> bool:
    return bool(type(model).compute_loss.__qualname__ != COMPUTE_LOSS)


def has_own_step(model: Any) -> bool:
    return bool(type(model).train_step is not keras.Model.train_step)
