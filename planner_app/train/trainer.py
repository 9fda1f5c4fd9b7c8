"""One update with one global batch, on whatever rung memory allows.

A retry in the same process is sound: an aborted step gives all its tensors back, TensorFlow's allocator keeps the freed
memory and hands it out again, and the next rung asks for less at a time. (It would be no way to measure: what the first
try has taken from the device stays taken.)
"""

import gc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from planner_app.core.plan.plan import Rung
from planner_app.errors import PlanError
from planner_app.train.accumulate.gradients import Accumulator, overwrite_with_averages
from planner_app.train.accumulate.ledger import Sums
from planner_app.train.accumulate.probe import SAMPLES, limits, probe
from planner_app.train.accumulate.steps import Steps
from planner_app.train.data.shares import Share, cut, has_filler, shapes_of, shares, size_of
from planner_app.train.notes import note
from planner_app.train.policies import lower_precision
from planner_app.train.recover.state import Copied, Held, all_state, metrics_state, parts_of, small_state

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan

Whole = tuple[Any, ...]  # what each loss of a batch divides by


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
        self.replicas = int(self.strategy.num_replicas_in_sync)
        if self.replicas != plan.entry.gpus:
            raise PlanError(
                f"The model was built for {self.replicas} devices, and the plan has {plan.entry.gpus}: build and "
                "compile it inside `with plan.scope():`."
            )
        self.on_descend: Callable[[Rung, Rung], None] = lambda _old, _new: None
        self._ready = self._for_training = False
        self._kinds: Sums | None = None
        self._across: list[str] = []
        self._sample: Any = None
        self._said: set[str] = set()
        self._sums: Accumulator | None = None
        self._wholes: dict[Any, Whole] = {}

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
        """The logs of `test_step` on one batch. Without memory for it, metrics are put back and the next rung tries."""
        self.prepare(batch)
        while True:
            reason = ""
            self._metrics.take()
            try:
                logs = self._tested(batch)
                self._metrics.drop()
                return logs
            except tf.errors.ResourceExhaustedError as error:
                reason = reason_of(error)
            self._metrics.restore()
            self.descend(reason)

    def predict(self, batch: Any) -> Any:
        """What `predict_step` gives for a batch. Every host predicts all of it, on its own devices."""
        self.prepare(batch, training=False)
        while True:
            try:
                return self._predicted(batch)
            except tf.errors.ResourceExhaustedError as error:
                reason = reason_of(error)
            self.descend(reason)

    def prepare(self, batch: Any, training: bool = True) -> None:
        """Builds what is not built yet, with the shapes of a batch, and finds out what accumulation can't do."""
        if training and getattr(self.model, "optimizer", None) is None:
            raise PlanError("The model is not compiled: call model.compile(...) before it is trained.")
        if self._ready and (self._for_training or not training):
            return
        first = cut(batch, 0, 1)
        with self.strategy.scope():
            self._build(first if isinstance(first, tuple) else (first,), training)
        everything = all_state(self.strategy, self.model)
        self._copied = Copied(everything)
        self._small = Held(small_state(self.strategy, self.model))
        self._metrics = Held(metrics_state(self.strategy, self.model))
        self._all = Held([part for parts in everything for part in parts])
        self._held = self._small
        self._proven: set[tuple[int, int]] = set()
        self._ready, self._for_training = True, training
        self._sample = cut(batch, 0, SAMPLES) if training else None
        self._functions()

    def begin_epoch(self) -> None:
        """Metrics start at zero: what was trained before is done with."""
        if self._ready:
            self._copied.forget()

    def descend(self, reason: str) -> None:
        """The next rung: what the old one left behind is dropped, so that its memory is free."""
        if self.plan.hosts > 1:
            raise PlanError(_on_several_hosts(reason, self.plan.rung))
        old, number = self.plan.current, self.plan.rung
        new = self.plan.descend()
        if new.precision != old.precision:
            lower_precision(self.model, str(new.precision))
        self._functions()
        gc.collect()
        note(
            f"Memory ran out with {old.per_gpu_batch} samples at a time ({reason}): training goes on with rung "
            f"{number + 1}, {new.per_gpu_batch} at a time in {new.accumulate} steps, {new.precision}. The batch is "
            f"still {self.plan.global_batch}, and no step is lost."
        )
        self.on_descend(old, new)

    def _build(self, first: Any, training: bool) -> None:
        if training:
            if not all(layer.built for layer in self.model._flatten_layers()) or not _has_metrics(self.model):
                self.model._symbolic_build(data_batch=first)
            if not self.model.optimizer.built:
                self.model.optimizer.build(self.model.trainable_variables)
        elif not self.model.built:
            self.model(first[0])

    def _functions(self) -> None:
        """The steps of the current rung, to be traced when they are first called."""
        if self.plan.accumulate > 1 and self._sums is None:
            self._sums = Accumulator(self.strategy, self.model.trainable_variables, self.plan.global_batch)
            parts = parts_of(self.strategy, self._sums.sums)
            self._with_sums = Held([*small_state(self.strategy, self.model), *parts])
        if self._sums is not None:
            self._sums.clear()
        self._wholes = {}
        if self._shared and self._kinds is None and self._sample is not None:
            self._kinds, self._across = self._probed()
        if self._shared and self._kinds is not None:
            self._say_limits()
        self._steps = Steps(self.model, self.strategy, self._kinds or Sums(), self._sums)

    @property
    def _shared(self) -> bool:
        """Whether a batch is trained in shares: in steps, or on several devices."""
        return self.replicas > 1 or self.plan.accumulate > 1

    def _probed(self) -> tuple[Sums, list[str]]:
        try:
            return probe(self.model, self._sample)
        except Exception as error:  # the model's own code, asked for three samples where it may expect a batch
            note(
                f"What the loss is made of could not be tried out ({type(error).__name__}: {str(error)[:200]}): what "
                "the model adds to it by itself counts as a mean over samples."
            )
            return Sums(), []

    def _say_limits(self) -> None:
        rung, batch = self.plan.current, self.plan.global_batch
        for sentence in limits(self.model, self._across, rung.per_gpu_batch, batch, self.replicas):
            key = sentence[:30]
            if key not in self._said:
                self._said.add(key)
                note(sentence)

    def _check_size(self, batch: Any) -> None:
        if not 0 < size_of(batch) <= self.plan.global_batch:
            raise PlanError(
                f"A batch of {size_of(batch)} came: expected up to {self.plan.global_batch}, the global batch."
            )

    def _train(self, batch: Any) -> Any:
        steps = self._in_shares(batch)
        if not self._shared:
            return self._steps.plain(self._spread(batch, steps[0]))
        whole = self._whole(batch, steps, training=True)
        if self.plan.accumulate == 1:
            logs = self._steps.once(self._spread(batch, steps[0]), self._part(steps[0], whole), has_filler(steps[0]))
            overwrite_with_averages(self.strategy, self.model.optimizer)
            return logs
        found = [
            self._steps.add(self._spread(batch, step), self._part(step, whole), has_filler(step)) for step in steps
        ]
        self._say_added_up()
        try:
            self._steps.update([each.rows for each in found])
        except tf.errors.ResourceExhaustedError as error:
            raise PlanError(_in_the_update(reason_of(error))) from error
        if self.replicas > 1:
            overwrite_with_averages(self.strategy, self.model.optimizer)
        return self._logs([each.logs for each in found], training=True)

    def _say_added_up(self) -> None:
        assert self._sums is not None
        names, self._sums.added_up = self._sums.added_up, []
        if names:
            note(
                f"The gradient of {', '.join(names)} is added up by word over the shares of a batch, because its rows "
                "would take too much memory; Keras' optimizers take each row by itself. Weights differ slightly from "
                "those of one batch."
            )

    def _tested(self, batch: Any) -> Any:
        steps = self._in_shares(batch)
        if len(steps) == 1 and self.replicas == 1:
            return self._steps.plain_test(self._spread(batch, steps[0]))
        whole = self._whole(batch, steps, training=False)
        found = [
            self._steps.test(self._spread(batch, step), self._part(step, whole), has_filler(step)) for step in steps
        ]
        return self._logs(found, training=False)

    def _predicted(self, batch: Any) -> Any:
        local = self.replicas // self.plan.hosts
        found: list[Any] = []
        for step in shares(size_of(batch), self.plan.per_gpu_batch, local):
            given = self._spread(batch, step, local)
            results = self._steps.predict(given)
            for replica, share in enumerate(step):
                if share.weight:
                    found.append(tf.nest.map_structure(lambda each, n=replica: self._local(each)[n], results))
        return tf.nest.map_structure(lambda *parts: keras.ops.concatenate(parts, 0), *found) if found else None

    def _local(self, value: Any) -> Sequence[Any]:
        return tuple(self.strategy.experimental_local_results(value))

    def _in_shares(self, batch: Any) -> list[list[Share]]:
        return shares(size_of(batch), self.plan.per_gpu_batch, self.replicas)

    def _logs(self, found: list[Any], training: bool) -> Any:
        """Metrics are of all shares so far, so the last ones count; the model's own numbers are parts of a sum."""
        if not self._steps.own_logs[training]:
            return found[-1]
        return tf.nest.map_structure(lambda *parts: sum(parts[1:], parts[0]), *found)

    def _whole(self, batch: Any, steps: list[list[Share]], training: bool) -> Whole:
        """What every share must know about the whole batch. Where shapes alone say it, only once for each shape."""
        key = (training, shapes_of(batch))
        if key in self._wholes:
            return self._wholes[key]
        counts = [self._steps.count(self._spread(batch, step), self._weights(step), training) for step in steps]
        whole = tuple(tf.add_n(list(each)) for each in zip(*counts, strict=True))
        if not self._steps.needs_data[training]:
            self._wholes[key] = whole
        return whole

    def _part(self, step: list[Share], whole: Whole) -> Whole:
        return self._weights(step), *whole

    def _before(self, batch: Any) -> None:
        if self.plan.hosts > 1:
            return
        first = bool(self.model.jit_compile) and self._shape(batch) not in self._proven
        if self._sums is not None and self.plan.accumulate > 1:
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
        if self.model.jit_compile and self._shape(batch) in self._proven:
            raise PlanError(_lost(reason, "a step compiled by XLA leaves nothing to go on with", self.plan.rung))
        if self.model.jit_compile or self.plan.accumulate > 1:
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

    def _spread(self, batch: Any, step: list[Share], replicas: int | None = None) -> Any:
        """Each replica of this host its own share."""
        if (replicas or self.replicas) == 1:
            return cut(batch, step[0].start, step[0].stop)
        base = 0 if replicas is None else self._first_replica
        return self._values(lambda n: cut(batch, step[n - base].start, step[n - base].stop))

    @property
    def _first_replica(self) -> int:
        """Of this host."""
        return (self.plan.worker or 0) * (self.replicas // self.plan.hosts)

    def _weights(self, step: list[Share]) -> Any:
        if self.replicas == 1:
            return tf.constant(step[0].weight, tf.float32)
        return self._values(lambda replica: tf.constant(step[replica].weight, tf.float32))

    def _values(self, of: Callable[[int], Any]) -> Any:
        return self.strategy.experimental_distribute_values_from_function(
            lambda context: of(context.replica_id_in_sync_group)
        )


def _has_metrics(model: Any) -> bool:
    """Whether compiled metrics and losses have made their variables."""
    parts = (getattr(model, "_compile_metrics", None), getattr(model, "_compile_loss", None))
    return all(part is None or part.built for part in parts)


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
        f"Memory ran out in the middle of a step ({reason}), and {why}: some weights may be updated and others not. "
        f"Start again from a checkpoint, with load_plan(..., rung={rung + 1}); `plimsoll run` does so by itself."
    )


def _on_several_hosts(reason: str, rung: int) -> str:
    return (
        f"Memory ran out on this host ({reason}), and the others can't know: start all of them again with "
        f"load_plan(..., rung={rung + 1}); `plimsoll run` does so by itself."
    )


def _in_the_update(reason: str) -> str:
    return (
        f"Memory ran out while the weights were updated ({reason}): that takes the same on every rung. Some weights "
        "may be updated and others not: start again from a checkpoint, on a larger device or with a smaller optimizer."
    )
