"""One update with one global batch, on whatever rung memory allows.

A retry in the same process is sound: an aborted step gives all its tensors back, TensorFlow's allocator keeps the freed
memory and hands it out again, and the next rung asks for less at a time. (It would be no way to measure: what the first
try has taken from the device stays taken.)
"""

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from planner_app.core.plan.plan import Rung
from planner_app.errors import PlanError
from planner_app.train.accumulate.gradients import Accumulator
from planner_app.train.accumulate.probe import LossKinds, check_shareable
from planner_app.train.accumulate.whole import WholeBatches
from planner_app.train.building import make_variables
from planner_app.train.data.shares import cut, size_of
from planner_app.train.data.spread import Spread
from planner_app.train.notes import note
from planner_app.train.policies import lower_precision
from planner_app.train.recover.deaths import reason_of
from planner_app.train.recover.undo import Undo

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan


class Trainer:
    """Trains a compiled model as a plan says. `step` takes a global batch and gives the logs, as `train_step` does.

    Attributes:
        on_descend: Called with the rung that was left and the new one, when memory ran out.
    """

    def __init__(self, plan: "TrainingPlan", model: Any) -> None:
        if getattr(getattr(model, "optimizer", None), "gradient_accumulation_steps", None):
            raise PlanError("The optimizer accumulates gradients, which the plan does too: use plan.optimizer().")
        self.plan, self.model = plan, model
        self.strategy = model.distribute_strategy
        self._spread = Spread(self.strategy, plan.hosts, plan.worker)
        if self._spread.replicas != plan.entry.gpus:
            raise PlanError(
                f"The model was built for {self._spread.replicas} devices, and the plan has {plan.entry.gpus}: build "
                "and compile it inside `with plan.scope():`."
            )
        self.on_descend: Callable[[Rung, Rung], None] = lambda _old, _new: None
        self._ready = self._for_training = False
        self._loss = LossKinds(model)
        self._sums: Accumulator | None = None

    @property
    def compiled_with(self) -> Any:
        """Changes when the model is compiled again: then it needs another trainer."""
        return getattr(self.model, "_loss_tracker", None)

    def step(self, batch: Any) -> Any:
        """One update. On an out-of-memory error the state is put back and the same batch trained on the next rung."""
        self.prepare(batch)
        self._check_size(batch)
        queue, logs = [batch], None
        while queue:
            self._undo.before(queue[0])
            reason = ""
            try:
                logs = self._batches.train(queue[0])
                self._undo.done(queue[0])
            except tf.errors.ResourceExhaustedError as error:
                reason = reason_of(error)  # the error itself holds on to tensors: it must be gone before the next try
            if reason:
                again = self._undo.restore(queue[0], reason)
                self.descend(reason)
                queue = [*again, *queue[1:]]
            else:
                queue = queue[1:]
        return logs

    def test(self, batch: Any) -> Any:
        """The logs of `test_step` on one batch. Without memory for it, metrics are put back and the next rung tries."""
        self.prepare(batch)
        while True:
            reason = ""
            self._undo.metrics.take()
            try:
                logs = self._batches.test(batch)
                self._undo.metrics.drop()
                return logs
            except tf.errors.ResourceExhaustedError as error:
                reason = reason_of(error)
            self._undo.metrics.restore()
            self.descend(reason)

    def predict(self, batch: Any) -> Any:
        """What `predict_step` gives for a batch. Every host predicts all of it, on its own devices."""
        self.prepare(batch, training=False)
        while True:
            try:
                return self._batches.predict(batch)
            except tf.errors.ResourceExhaustedError as error:
                reason = reason_of(error)
            self.descend(reason)

    def metric_logs(self, training: bool) -> dict[str, Any]:
        """Those of a step's logs that are metrics' results, as they are now over all replicas."""
        return self._batches.metric_logs(training) if self._ready else {}

    def prepare(self, batch: Any, training: bool = True) -> None:
        """Builds what is not built yet, with the shapes of a batch, and finds out what accumulation can't do."""
        if training and getattr(self.model, "optimizer", None) is None:
            raise PlanError("The model is not compiled: call model.compile(...) before it is trained.")
        if self._ready and (self._for_training or not training):
            return
        self._check_shares()
        with self.strategy.scope():
            self._build(batch, training)
        self._undo = Undo(self.plan, self.model, self.strategy)
        self._ready, self._for_training = True, training
        if training:
            self._loss.keep_sample(batch)
        self._functions()

    def begin_epoch(self) -> None:
        """Metrics start at zero: what was trained before is done with."""
        if self._ready:
            self._undo.begin_epoch()

    def descend(self, reason: str) -> None:
        """The next rung: what the old one left behind is dropped, so that its memory is free."""
        if self.plan.hosts > 1:
            raise PlanError(_on_several_hosts(reason, self.plan.rung))
        old, number = self.plan.current, self.plan.rung
        new = self.plan.descend()
        if new.precision != old.precision:
            lower_precision(self.model, str(new.precision))
        self._check_shares()
        self._functions()
        gc.collect()
        note(
            f"Memory ran out with {old.per_gpu_batch} samples at a time ({reason}): training goes on with rung "
            f"{number + 1}, {new.per_gpu_batch} at a time in {new.accumulate} steps, {new.precision}. The batch is "
            f"still {self.plan.global_batch}, and no step is lost."
        )
        self.on_descend(old, new)

    def _build(self, batch: Any, training: bool) -> None:
        if training:
            make_variables(self.model, batch)
        elif not self.model.built:
            self.model(cut(batch[0] if isinstance(batch, tuple) else batch, 0, 1))

    @property
    def _in_shares(self) -> bool:
        return self.plan.accumulate > 1 or self._spread.replicas > 1

    def _check_shares(self) -> None:
        if self._in_shares:
            check_shareable(self.model)

    def _functions(self) -> None:
        """What trains on the current rung."""
        if self.plan.accumulate > 1 and self._sums is None:
            self._sums = Accumulator(self.strategy, self.model.trainable_variables, self.plan.global_batch)
        if self._sums is not None:
            self._sums.clear()
            self._undo.keep_sums(self._sums.sums)
        if self._in_shares:
            self._loss.find()
            self._loss.say_limits(self.plan.per_gpu_batch, self.plan.global_batch, self._spread.replicas)
        self._batches = WholeBatches(
            self.model, self.strategy, self._spread, self.plan.current, self._loss.sums, self._sums
        )

    def _check_size(self, batch: Any) -> None:
        if not 0 < size_of(batch) <= self.plan.global_batch:
            raise PlanError(
                f"A batch of {size_of(batch)} came: expected up to {self.plan.global_batch}, the global batch."
            )


def _on_several_hosts(reason: str, rung: int) -> str:
    return (
        f"Memory ran out on this host ({reason}), and the others can't know: start all of them again with "
        f"load_plan(..., rung={rung + 1}); `plimsoll run` does so by itself."
    )
