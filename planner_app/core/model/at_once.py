"""What training needs at least, from the file's configuration and weight shapes alone: no TensorFlow, no trace."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from planner_app.core.model.description import CheckedModel

DTYPE_BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2, "int16": 2}
# Variables of a weight's shape that each optimizer of Keras keeps.
SLOTS = {
    "adam": 2, "adamw": 2, "nadam": 2, "adamax": 2, "lamb": 2, "adadelta": 2, "ftrl": 2,
    "adagrad": 1, "rmsprop": 1, "lion": 1, "sgd": 0,
}  # fmt: skip
ASSUMED = "adam"  # where a model was saved without an optimizer


@dataclass(frozen=True, slots=True)
class StateAtOnce:
    """Attributes:
    gradients_bytes: If everything is trained; layers that are frozen have none.
    optimizer: Its name; `assumed` if the file names none.
    optimizer_bytes: None for an optimizer whose state does not follow from the weights.
    """

    weights_bytes: int
    gradients_bytes: int
    optimizer: str
    optimizer_bytes: int | None
    assumed: bool

    @property
    def total_bytes(self) -> int:
        return self.weights_bytes + self.gradients_bytes + (self.optimizer_bytes or 0)


def state_at_once(model: CheckedModel) -> StateAtOnce | None:
    """None if the file holds no weights."""
    weights = sum(prod(each.shape) * DTYPE_BYTES.get(each.dtype, 1) for each in model.weights)
    if not weights:
        return None
    saved = (model.compile_config or {}).get("optimizer")
    name, options = _optimizer(saved)
    slots = _slots(name or ASSUMED, options)
    return StateAtOnce(weights, weights, name or ASSUMED, None if slots is None else slots * weights, not name)


def _optimizer(saved: object) -> tuple[str, Mapping[str, Any]]:
    if isinstance(saved, str):
        return saved.lower(), {}
    if isinstance(saved, Mapping) and isinstance(saved.get("class_name"), str):
        options = saved.get("config")
        return saved["class_name"].lower(), options if isinstance(options, Mapping) else {}
    return "", {}


def _slots(name: str, options: Mapping[str, Any]) -> int | None:
    """Options of Keras that add a variable for each weight count one each."""
    if name not in SLOTS:
        return None
    by_momentum = name in ("sgd", "rmsprop") and bool(options.get("momentum"))
    return SLOTS[name] + by_momentum + sum(bool(options.get(key)) for key in ("amsgrad", "centered", "use_ema"))
