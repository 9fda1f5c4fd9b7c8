"""What a run took beside what its plan expects, by term."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from planner_app.core.estimate.breakdown import Term as Planned
from planner_app.core.measure.measurement import Step
from planner_app.train.building import optimizers_of
from planner_app.units import format_bytes

BETWEEN = "kept between steps"
IN_A_STEP = "during a step"


@dataclass(frozen=True, slots=True)
class Term:
    """`measured_bytes` of all terms sum to the highest peak, `planned_bytes` to the expected one.

    Attributes:
        planned_bytes: None where the plan does not say, as those of version 1.
        parts: What is planned by finer terms, where they can't be measured one by one.
    """

    name: str
    planned_bytes: int | None
    measured_bytes: int
    parts: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.planned_bytes is None:
            return f"{self.name} {format_bytes(self.measured_bytes)}"
        parts = ", ".join(f"{name} {_signed(size)}" for name, size in self.parts.items())
        planned = _signed(self.planned_bytes) + (f": {parts}" if parts else "")
        return f"{self.name} {format_bytes(self.measured_bytes)} (planned {planned})"


def compared(
    model: Any, planned: Mapping[str, int], steps: Sequence[Step], peak_bytes: int, *, replicas: int, accumulates: bool
) -> list[Term]:
    """The terms of one device, or of all replicas that share one.

    What stays from step to step is known from the variables and measured between steps; what a step makes for itself
    is the rest of the peak.
    """
    weights = _bytes(model.variables) * replicas
    sums = _bytes(model.trainable_variables) if accumulates else 0
    optimizer = (_bytes([each for one in optimizers_of(model) for each in one.variables]) + sums) * replicas
    between = int(median(max(each.after_bytes for each in step.memory) for step in steps))
    known = weights + optimizer
    lasting = {
        Planned.WEIGHTS: Term(str(Planned.WEIGHTS), None, weights),
        Planned.OPTIMIZER: Term(str(Planned.OPTIMIZER), None, optimizer),
        Planned.CONSTANTS: Term(BETWEEN, None, max(0, between - known)),
    }
    passing = Term(IN_A_STEP, None, peak_bytes - max(between, known))
    if not planned:
        return [*lasting.values(), passing]
    parts = {name: size * replicas for name, size in planned.items() if name not in lasting}
    return [
        *(replace(term, planned_bytes=planned.get(name, 0) * replicas) for name, term in lasting.items()),
        replace(passing, planned_bytes=sum(parts.values()), parts=parts),
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
