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
from planner_app.train.feed import Share, cut, shares, size_of
from planner_app.train.gradients import Accumulator, Catcher, scaled
from planner_app.train.notes import note
from planner_app.train.policies import lower_precision
from planner_app.train.state import Copied, Held, all_state, parts_of, small_state

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan


class Trainer:
    """Trains a compiled model as a plan says. `step` takes a global batch and gives the logs, as `train_step` does.

    Attributes:
        on_descend: Called with the rung that was left and the new one, when memory ran out.
    """

    def __init__(self, plan: "TrainingPlan", model: Any) -> None:
        if getattr(model, "optimizer", None) is None:
            raise PlanError("The model is not compiled: call model.compile(...) before it is trained.")
        if getattr(model.optimizer, "gradient_accumulation_steps", None):
            raise PlanError("The optimizer accumulates gradients, which the plan does too: use plan.optimizer().")
        self.plan, self.model = plan, model
        self.strategy = model.distribute_strategy
        self.replicas = int(self.strategy.num_replicas_in_sync)
        if self.replicas != plan.entry.gpus:
            raise PlanError(
                f"The model was built for {self.replicas} devices, and the plan has {plan.entry.gpus}: build and "
                "compile it inside `with plan.scope():`."
            )
        if any(getattr(loss, "reduction", "") == "sum" for loss in tf.nest.flatten(getattr(model, "loss", None) or [])):
            note(
                "A loss sums over its samples: with accumulation or several devices it counts as the mean of the sums."
            )
        self.on_descend: Callable[[Rung, Rung], None] = lambda _old, _new: None
        self._ready = False

    def step(self, batch: Any) -> Any:
        """One update. On an out-of-memory error the state is put back and the same batch trained on the next rung."""
        if not 0 < size_of(batch) <= self.plan.global_batch:
            raise PlanError(
                f"A batch of {size_of(batch)} came: expected up to {self.plan.global_batch}, the global batch."
            )
        self._prepare(batch)
        queue, logs = [batch], None
        while queue:
            self._before(queue[0])
            reason = ""
            try:
                logs = self._train(queue[0])
                self._proven.add(self._shape(queue[0]))
                self._held.drop()
            except tf.errors.ResourceExhaustedError as error:
                reason = reason_of(error)  # the error itself holds on to tensors: it must be gone before the next try
            queue = [*self._restored(queue[0], reason), *queue[1:]] if reason else queue[1:]
        return logs

    def test(self, batch: Any) -> Any:
        """The logs of `test_step` on one batch. Metrics alone are touched, so a caller may begin again.

        Raises:
            tf.errors.ResourceExhaustedError: Call `descend`, and begin again.
        """
        self._prepare(batch)
        logs = None
        self._small.take()  # so that metrics can be reset after a compiled step that failed
        for step in shares(size_of(batch), self.plan.per_gpu_batch, self.replicas):
            logs = self._test(self._spread(batch, step))
        return logs

    def begin_epoch(self) -> None:
        """Metrics start at zero: what was trained before is done with."""
        if self._ready:
            self._copied.forget()

    def descend(self, reason: str) -> None:
        """To the next rung: what the old one left behind is dropped, so that its memory is free."""
        if self.plan.hosts > 1:
            raise PlanError(
                f"Memory ran out on this host ({reason}). Several hosts can't change the rung together in training: "
                f"start all of them again from a checkpoint, with load_plan(..., rung={self.plan.rung + 1})."
            )
        old, new = self.plan.current, self.plan.descend()
        if new.precision is not old.precision:
            lower_precision(self.model, str(new.precision))
        self._functions()
        gc.collect()
        note(
            f"Memory ran out with {old.per_gpu_batch} samples at a time in {old.precision} ({reason}): training goes "
            f"on with {new.per_gpu_batch} at a time in {new.precision}, {new.accumulate} steps for each update. The "
            f"global batch stays {self.plan.global_batch}, and no step is lost."
        )
        self.on_descend(old, new)

    def _prepare(self, batch: Any) -> None:
        """All variables are made before the first step is traced, as Keras' own fit does it."""
        if self._ready:
            return
        first = cut(batch, Share(0, 1, 1.0))
        with self.strategy.scope():
            self.model._symbolic_build(data_batch=first if isinstance(first, tuple) else (first,))
            if not self.model.optimizer.built:
                self.model.optimizer.build(self.model.trainable_variables)
        self._catcher = Catcher(self.model.optimizer)
        everything = all_state(self.strategy, self.model)
        self._copied = Copied(everything)
        self._small = Held(small_state(self.strategy, self.model))
        self._all = Held([part for parts in everything for part in parts])
        self._held = self._small
        self._proven: set[tuple[int, int]] = set()
        self._sums: Accumulator | None = None
        self._functions()
        self._ready = True

    def _functions(self) -> None:
        """The steps of the current rung, to be traced when they are first called."""
        compiled = {"reduce_retracing": True, "jit_compile": self.model.jit_compile}

        def run(step: Callable[..., Any]) -> Any:
            def all_replicas(*given: Any) -> Any:
                with self._catcher.installed():
                    return self._reduced(self.strategy.run(step, args=given))

            wrapped = tf.autograph.experimental.do_not_convert(all_replicas)
            return wrapped if self.model.run_eagerly else tf.function(wrapped, **compiled)

        self._plain, self._weighted = run(self.model.train_step), run(self._weighted_step)
        self._add, self._test = run(self._add_step), run(self.model.test_step)
        self._update = run(self._update_step)
        if self.plan.accumulate == 1:
            self._sums = None
        elif self._sums is None:
            self._sums = Accumulator(self.strategy, self.model.trainable_variables)
            parts = parts_of(self.strategy, self._sums.sums)
            self._with_sums = Held([*small_state(self.strategy, self.model), *parts])
        if self._sums is not None:
            self._sums.clear()

    def _train(self, batch: Any) -> Any:
        steps = shares(size_of(batch), self.plan.per_gpu_batch, self.replicas)
        if self._sums is None:
            data = self._spread(batch, steps[0])
            even = len({share.weight for share in steps[0]}) == 1
            return self._plain(data) if even else self._weighted(data, self._weights(steps[0]))
        for step in steps:
            logs = self._add(self._spread(batch, step), self._weights(step))
        try:
            self._update()
        except tf.errors.ResourceExhaustedError as error:
            raise PlanError(_in_the_update(reason_of(error))) from error
        return logs

    def _add_step(self, data: Any, weight: Any) -> Any:
        logs, pairs = self._catcher.gradients(self.model.train_step, data)
        assert self._sums is not None
        self._sums.add(pairs, weight)
        return logs

    def _update_step(self) -> None:
        assert self._sums is not None
        self._sums.apply(self.model.optimizer)

    def _weighted_step(self, data: Any, weight: Any) -> Any:
        """The last batch of an epoch may not share out evenly; Keras would give every replica the same weight."""
        logs, pairs = self._catcher.gradients(self.model.train_step, data)
        self.model.optimizer.apply([scaled(grad, weight) for grad, _ in pairs], [variable for _, variable in pairs])
        return logs

    def _before(self, batch: Any) -> None:
        if self.plan.hosts > 1:
            return
        first = bool(self.model.jit_compile) and self._shape(batch) not in self._proven
        if self._sums is not None:
            self._held = self._with_sums if first else self._small
            self._held.take()
        elif first:
            self._held = self._all
            self._held.take()
        elif not self.model.jit_compile:
            self._copied.before(batch)

    def _shape(self, batch: Any) -> tuple[int, int]:
        """What a step is compiled for: on this rung, so many samples."""
        return self.plan.rung, size_of(batch)

    def _restored(self, batch: Any, reason: str) -> list[Any]:
        """The state before the failed step, on the next rung. The answer is what to train again."""
        rate = _rate(self.model.optimizer)
        if self.plan.hosts > 1:
            self.descend(reason)
            return [batch]
        if self.model.jit_compile and self._shape(batch) in self._proven:
            raise PlanError(_lost(reason, "a step compiled by XLA leaves nothing to go on with", self.plan.rung))
        if self.model.jit_compile or self._sums is not None:
            self._held.restore()
            self.descend(reason)
            return [batch]
        if not self._copied.possible:
            raise PlanError(_lost(reason, "the host had no room for a copy of the weights", self.plan.rung))
        again = self._copied.restore()
        if rate is not None:  # a callback may have changed it since the copy
            self.model.optimizer.learning_rate = rate
        self.descend(reason)
        return again

    def _spread(self, batch: Any, step: list[Share]) -> Any:
        """Each replica of this host its own share."""
        if self.replicas == 1:
            return cut(batch, step[0])
        return self._values(lambda replica: cut(batch, step[replica]))

    def _weights(self, step: list[Share]) -> Any:
        if self.replicas == 1:
            return tf.constant(step[0].weight, tf.float32)
        return self._values(lambda replica: tf.constant(step[replica].weight, tf.float32))

    def _values(self, of: Callable[[int], Any]) -> Any:
        return self.strategy.experimental_distribute_values_from_function(
            lambda context: of(context.replica_id_in_sync_group)
        )

    def _reduced(self, logs: Any) -> Any:
        """One number for each log: the mean over the replicas."""
        if self.replicas == 1 or logs is None:
            return logs
        mean = tf.distribute.ReduceOp.MEAN
        return tf.nest.map_structure(lambda value: self.strategy.reduce(mean, value, axis=None), logs)


def _rate(optimizer: Any) -> float | None:
    try:
        return float(optimizer.learning_rate)
    except (TypeError, ValueError):  # a schedule: it follows from the number of updates
        return None


def reason_of(error: BaseException) -> str:
    """TensorFlow's own words for what did not fit."""
    for line in str(error).splitlines():
        start = line.find("OOM when allocating")
        if start >= 0:
            return " ".join(line[start:].split(" on /job")[0].split())[:160]
    said = str(error).strip().splitlines()
    return " ".join(said[0].partition(" [Op:")[0].split())[:160] if said else "out of memory"


def _lost(reason: str, why: str, rung: int) -> str:
    return (
        f"Memory ran out in the midst of a step ({reason}), and {why}: some weights may be updated and others not. "
        f"Start again from a checkpoint, with load_plan(..., rung={rung + 1})."
    )


def _in_the_update(reason: str) -> str:
    return (
        f"Memory ran out while the weights were updated ({reason}): that takes the same on every rung. Some weights "
        "may be updated and others not: start again from a checkpoint, on a larger device or with a smaller optimizer."
    )
