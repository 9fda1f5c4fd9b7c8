"""The state before a step that ran out of memory: kept as cheaply as the kind of step allows, and put back."""

from typing import TYPE_CHECKING, Any

from planner_app.errors import PlanError
from planner_app.train.building import optimizers_of
from planner_app.train.data.shares import size_of
from planner_app.train.recover.state import Copied, Held, all_state, metrics_state, parts_of, small_state

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan


class Undo:
    """Attributes:
    metrics: What a test step changes.
    """

    def __init__(self, plan: "TrainingPlan", model: Any, strategy: Any) -> None:
        self._plan, self._model, self._strategy = plan, model, strategy
        everything = all_state(strategy, model)
        self.metrics = Held(metrics_state(strategy, model))
        self._copied = Copied(everything)
        self._small = Held(small_state(strategy, model))
        self._all = Held([part for parts in everything for part in parts])
        self._with_sums = self._held = self._small
        self._compiled: set[tuple[int, int]] = set()

    def keep_sums(self, sums: list[Any]) -> None:
        """Sums of gradients are there from now on, which a first step that is compiled must leave alone too."""
        parts = parts_of(self._strategy, sums)
        self._with_sums = Held([*small_state(self._strategy, self._model), *parts])

    def before(self, batch: Any) -> None:
        """Called before each step with what it trains."""
        if self._plan.hosts > 1:  # all of them start again together
            return
        first = bool(self._model.jit_compile) and self._shape(batch) not in self._compiled
        if self._plan.accumulate > 1:
            self._held = self._with_sums if first else self._small
            self._held.take()
        elif first:
            self._held = self._all
            self._held.take()
        elif not self._model.jit_compile:
            self._copied.before(batch)

    def done(self, batch: Any) -> None:
        """The step is through: nothing is held any longer."""
        self._compiled.add(self._shape(batch))
        self._held.drop()

    def restore(self, batch: Any, reason: str) -> list[Any]:
        """Everything as it was. The answer is what to train again.

        Raises:
            PlanError: Nothing was kept that could be put back.
        """
        if self._plan.hosts > 1:
            return [batch]
        compiled = bool(self._model.jit_compile)
        if compiled and self._shape(batch) in self._compiled:
            raise PlanError(_lost(reason, "a step compiled by XLA leaves nothing to go on with", self._plan.rung))
        if compiled or self._plan.accumulate > 1:
            self._held.restore()
            return [batch]
        if not self._copied.possible:
            raise PlanError(_lost(reason, "the host had no room for a copy of the weights", self._plan.rung))
        rates = [(each, _rate(each)) for each in optimizers_of(self._model)]
        again = self._copied.restore()
        for optimizer, rate in rates:
            if rate is not None:  # a callback may have changed it since the copy
                optimizer.learning_rate = rate
        return again

    def begin_epoch(self) -> None:
        """Metrics start at zero: what was trained before is done with."""
        self._copied.forget()

    def _shape(self, batch: Any) -> tuple[int, int]:
        """What a step is compiled for: on this rung, so many samples."""
        return self._plan.rung, size_of(batch)


def _rate(optimizer: Any) -> float | None:
    try:
        return float(optimizer.learning_rate)
    except (TypeError, ValueError):  # a schedule: it follows from the number of updates
        return None


def _lost(reason: str, why: str, rung: int) -> str:
    return (
        f"Memory ran out in the middle of a step ({reason}), and {why}: some weights may be updated and others not. "
        f"Start again from a checkpoint, with load_plan(..., rung={rung + 1}); `plimsoll run` does so by itself."
    )
