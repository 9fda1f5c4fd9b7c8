"""Whole batches on one rung: trained, tested and predicted share by share, and put together again."""

from typing import Any

import keras
import tensorflow as tf

from planner_app.core.plan.plan import Rung
from planner_app.errors import PlanError
from planner_app.train.accumulate.gradients import Accumulator, overwrite_with_averages
from planner_app.train.accumulate.ledger import Sums
from planner_app.train.accumulate.logs import LogKinds
from planner_app.train.accumulate.steps import Steps
from planner_app.train.data.shares import has_filler, shapes_of
from planner_app.train.data.spread import Spread, Step
from planner_app.train.notes import note
from planner_app.train.recover.deaths import reason_of

Divisors = tuple[Any, ...]  # what each loss of a batch divides by


class WholeBatches:
    """The functions are traced when they are first called."""

    def __init__(
        self, model: Any, strategy: Any, spread: Spread, rung: Rung, kinds: Sums, sums: Accumulator | None
    ) -> None:
        self._model, self._strategy, self._spread, self._rung, self._sums = model, strategy, spread, rung, sums
        self._steps = Steps(model, strategy, kinds, sums)
        self._known: dict[Any, Divisors] = {}

    def train(self, batch: Any) -> Any:
        steps = self._spread.steps(batch, self._rung.per_gpu_batch)
        if self._rung.accumulate == 1 and self._spread.replicas == 1:
            return self._steps.plain(self._spread.data(batch, steps[0]))
        whole = self._divisors(batch, steps, training=True)
        if self._rung.accumulate == 1:
            (step,) = steps
            logs = self._steps.once(self._spread.data(batch, step), self._part(step, whole), has_filler(step))
        else:
            logs = self._accumulated(batch, steps, whole)
        if self._spread.replicas > 1:
            overwrite_with_averages(self._strategy, self._model.optimizer)
        return logs

    def _accumulated(self, batch: Any, steps: list[Step], whole: Divisors) -> Any:
        found = [
            self._steps.add(self._spread.data(batch, step), self._part(step, whole), has_filler(step)) for step in steps
        ]
        self._say_added_up()
        try:
            self._steps.update([each.rows for each in found])
        except tf.errors.ResourceExhaustedError as error:
            raise PlanError(_in_the_update(reason_of(error))) from error
        return self._logs([each.logs for each in found], training=True)

    def _say_added_up(self) -> None:
        assert self._sums is not None
        names, self._sums.added_up = self._sums.added_up, []
        if names:
            note(
                f"The gradient of {', '.join(names)} is added up by word over the shares of a batch, because its rows "
                "are not known before or would take too much memory; Keras' optimizers take each row by itself. "
                "Weights differ slightly from those of one batch."
            )

    def test(self, batch: Any) -> Any:
        steps = self._spread.steps(batch, self._rung.per_gpu_batch)
        if len(steps) == 1 and self._spread.replicas == 1:
            return self._steps.plain_test(self._spread.data(batch, steps[0]))
        whole = self._divisors(batch, steps, training=False)
        found = [
            self._steps.test(self._spread.data(batch, step), self._part(step, whole), has_filler(step))
            for step in steps
        ]
        return self._logs(found, training=False)

    def predict(self, batch: Any) -> Any:
        found: list[Any] = []
        for step in self._spread.local_steps(batch, self._rung.per_gpu_batch):
            results = self._steps.predict(self._spread.local_data(batch, step))
            found += [
                tf.nest.map_structure(lambda each, n=replica: self._spread.results(each)[n], results)
                for replica, share in enumerate(step)
                if share.weight
            ]
        return tf.nest.map_structure(lambda *parts: keras.ops.concatenate(parts, 0), *found) if found else None

    def metric_logs(self, training: bool) -> dict[str, Any]:
        """The logs that are metrics' results, over all replicas; none where a batch is trained at once."""
        return self._steps.log_kinds.get(training, LogKinds()).now()

    def _logs(self, found: list[Any], training: bool) -> Any:
        """Metrics are of all shares so far, so the last ones count; the model's own numbers are parts of a sum."""
        own = self._steps.log_kinds[training].own
        return {**found[-1], **{name: sum(each[name] for each in found) for name in own}} if own else found[-1]

    def _divisors(self, batch: Any, steps: list[Step], training: bool) -> Divisors:
        """What every share must know about the whole batch. Where shapes alone say it, only once for each shape."""
        key = (training, shapes_of(batch))
        if key in self._known:
            return self._known[key]
        counts = [
            self._steps.count(self._spread.data(batch, step), self._spread.weights(step), training) for step in steps
        ]
        whole = tuple(tf.add_n(list(each)) for each in zip(*counts, strict=True))
        if not self._steps.needs_data[training]:
            self._known[key] = whole
        return whole

    def _part(self, step: Step, whole: Divisors) -> Divisors:
        return self._spread.weights(step), *whole


def _in_the_update(reason: str) -> str:
    return (
        f"Memory ran out while the weights were updated ({reason}): that takes the same on every rung. Some weights "
        "may be updated and others not: start again from a checkpoint, on a larger device or with a smaller optimizer."
    )
