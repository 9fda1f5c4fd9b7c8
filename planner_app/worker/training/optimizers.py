"""Optimizers by name and option, and those a model has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from planner_app.core.model.setup import Optimizer
from planner_app.errors import SetupError
from planner_app.worker.build.said import line

WRAPPERS = frozenset({"lossscaleoptimizer", "multioptimizer"})


def make_optimizer(wanted: Optimizer, accumulates: bool = False, accumulate: int = 2) -> Any:
    classes = {
        name.lower(): kind
        for name, kind in vars(keras.optimizers).items()
        if isinstance(kind, type) and issubclass(kind, keras.optimizers.Optimizer) and name != "Optimizer"
    }
    options = dict(wanted.options)
    scaled = options.pop("loss_scaling", False)
    kind = classes.get(wanted.name)
    if kind is None or wanted.name in WRAPPERS:
        known = ", ".join(sorted(set(classes) - WRAPPERS))
        raise SetupError(f'"{wanted.name}" is not an optimizer of Keras {keras.__version__}: expected one of {known}.')
    if accumulates:
        options["gradient_accumulation_steps"] = accumulate
    try:
        optimizer = kind(**options)
    except (TypeError, ValueError) as error:
        raise SetupError(f'Optimizer "{wanted}" can\'t be made: {line(error)}') from error
    return keras.optimizers.LossScaleOptimizer(optimizer) if scaled else optimizer


def accumulating(optimizer: Any, steps: int) -> Any:
    """An optimizer like this one that adds up the gradients of so many steps."""
    options = options_of(optimizer)
    _innermost(optimizer, options)["gradient_accumulation_steps"] = steps
    return type(optimizer).from_config(options)


def renewed(optimizer: Any) -> Any:
    """The same optimizer before it has seen any variable."""
    return type(optimizer).from_config(options_of(optimizer))


def options_of(optimizer: Any) -> dict[str, Any]:
    """What the optimizer was made with. A schedule stays the object it is: a user's own need not say how it is made."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    rate = inner._learning_rate
    if not isinstance(rate, keras.optimizers.schedules.LearningRateSchedule):
        return dict(optimizer.get_config())
    inner._learning_rate = 0.0
    try:
        options = dict(optimizer.get_config())
    finally:
        inner._learning_rate = rate
    _innermost(optimizer, options)["learning_rate"] = rate
    return options


def _innermost(optimizer: Any, options: dict[str, Any]) -> Any:
    """The options of the optimizer that updates the weights, where another one scales its losses."""
    return options["inner_optimizer"]["config"] if hasattr(optimizer, "inner_optimizer") else options


def optimizers_of(model: keras.Model) -> list[Any]:
    """Every optimizer that the model or a part of it keeps, the compiled one first."""
    found: dict[int, Any] = {}
    if getattr(model, "optimizer", None) is not None:
        found[id(model.optimizer)] = model.optimizer
    for layer in model._flatten_layers():
        for value in vars(layer).values():
            for each in _inside(value):
                found.setdefault(id(each), each)
    return list(found.values())


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, keras.optimizers.Optimizer):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _inside(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _inside(item)
