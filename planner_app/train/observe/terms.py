"""What a run took beside what its plan expects, by term."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from planner_app.core.measure.measurement import Step
from planner_app.train.observe.outputs import Planned
from planner_app.units import format_bytes

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan


@dataclass(frozen=True, slots=True)
class Term:
    """`planned_bytes` sum to the plan's expected peak, `measured_bytes` to the highest peak."""

    name: str
    planned_bytes: int
    measured_bytes: int

    def __str__(self) -> str:
        return f"{self.name} {format_bytes(self.measured_bytes)} (planned {_signed(self.planned_bytes)})"


def compared(
    model: Any, plan: "TrainingPlan", planned: Planned, steps: Sequence[Step], peak_bytes: int, replicas: int
) -> list[Term]:
    """The terms of one device, or of all replicas that share one."""
    weights = _bytes(model.variables) * replicas
    optimizer = _bytes(model.optimizer.variables) * replicas
    sums = _bytes(model.trainable_variables) * replicas if plan.accumulate > 1 else 0
    between = int(median(max(each.after_bytes for each in step.memory) for step in steps))
    known = weights + optimizer + sums
    return [
        Term("weights", weights, weights),
        Term("optimizer state", optimizer, optimizer),
        Term("summed gradients", sums, sums),
        Term("kept by the script", 0, max(0, between - known)),
        Term("activations and temporaries", planned.expected_bytes - known, peak_bytes - max(between, known)),
    ]


def _bytes(variables: Sequence[Any]) -> int:
    from keras import Variable

    total = 0
    for variable in {id(each): each for each in variables}.values():
        value = variable.value if isinstance(variable, Variable) else variable
        count = 1
        for size in value.shape:
            count *= int(size)
        total += count * int(value.dtype.size)
    return total


def _signed(count: int) -> str:
    return format_bytes(count) if count >= 0 else f"-{format_bytes(-count)}"
