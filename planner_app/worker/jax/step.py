"""The real training step of a rebuilt model on JAX, lowered from shapes alone and never run."""

from __future__ import annotations

import inspect
import traceback
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import keras

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import StepSetup
from planner_app.errors import ModelError, PlannerError, SetupError
from planner_app.worker.build.said import line
from planner_app.worker.jax.valueless import without_values
from planner_app.worker.training.expected import has_own_step
from planner_app.worker.training.trainable import Trainable
from planner_app.worker.training.trainable import build as build_trainable

# A user's step is Python: what it meets with data it was not written for may be anything.
UNTRACEABLE = (
    ValueError, TypeError, LookupError, AttributeError, NotImplementedError, AssertionError, RuntimeError,
)  # fmt: skip
ARGUMENTS_OF_STEP = 2  # the state and the data; TensorFlow's takes the data alone


@dataclass(frozen=True, slots=True)
class Arguments:
    """What the step is given: variables in Keras' four lists, and a batch. Shapes without values."""

    state: tuple[list[Any], ...]
    data: Any


def build(checked: CheckedModel, setup: StepSetup, *, accumulate: int = 2, values: bool = False) -> Trainable:
    made = build_trainable(checked, setup, _try, accumulate=accumulate, values=values)
    _check_step(made.model)
    return made


def arguments(trainable: Trainable, batch: int, device: Any = None) -> Arguments:
    """On the devices of the distribution that the model was built under; without one, on `device`."""
    model = trainable.model
    finish(trainable, batch)
    over = _distribution()
    alone = None if device is None else jax.sharding.SingleDeviceSharding(device)

    def of_variable(variable: Any) -> Any:
        lies = alone if over is None else variable._layout.backend_layout
        return jax.ShapeDtypeStruct(variable.shape, variable.dtype, sharding=lies)  # type: ignore[no-untyped-call]

    def of_data(spec: Any) -> Any:
        lies = alone if over is None or not spec.shape else over.get_data_layout(spec.shape).backend_layout
        return jax.ShapeDtypeStruct(spec.shape, _as_fed(spec.dtype), sharding=lies)  # type: ignore[no-untyped-call]

    state = tuple([of_variable(variable) for variable in kind] for kind in variables(model))
    data = jax.tree.map(of_data, trainable.feed.specs(batch))
    return Arguments(state, data)


def variables(model: keras.Model) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Keras' four kinds, in the order its step takes them."""
    optimizer = model.optimizer.variables if model.optimizer is not None else []
    return (
        list(model.trainable_variables),
        list(model.non_trainable_variables),
        list(optimizer),
        list(model.metrics_variables),
    )


def trace(trainable: Trainable, given: Arguments) -> Any:
    """The step as `fit` compiles it: the state's memory is given to the program and taken back."""
    step = _compiled(trainable.model, jax.tree.map(lambda leaf: leaf.sharding, given.state))
    try:
        with warnings.catch_warnings(), without_values():
            warnings.simplefilter("ignore")
            return step.trace(given.state, given.data)
    except PlannerError as error:
        raise type(error)(line(error)) from error
    except UNTRACEABLE as error:
        raise ModelError(
            f"The training step can't be traced on JAX: {line(error)}",
            detail="".join(traceback.format_exception(error)),
        ) from error


def compiled_as_trained(model: keras.Model) -> Any:
    """The same of a model whose variables have values."""
    return _compiled(model, tuple([each.value.sharding for each in kind] for kind in variables(model)))


def _compiled(model: keras.Model, lies: Any) -> Any:
    out = (None, lies) if _distribution() is not None else None
    return jax.jit(model.train_step, donate_argnums=0, out_shardings=out)


def _distribution() -> Any:
    """The one that places variables on devices; one that only marks them has none."""
    over = keras.distribution.distribution()
    return over if over is not None and over.device_mesh is not None else None


def _try(trainable: Trainable, batch: int) -> Any:
    _check_step(trainable.model)
    return trace(trainable, arguments(trainable, batch))


def finish(trainable: Trainable, batch: int, *, values: bool = False) -> None:
    """Metrics and losses make their variables when they first see results."""
    try:
        with warnings.catch_warnings(), nullcontext() if values else without_values():
            warnings.simplefilter("ignore")
            trainable.model._symbolic_build(data_batch=trainable.feed.specs(batch))
    except UNTRACEABLE as error:
        if not has_own_step(trainable.model):
            raise SetupError(
                f"The model, its loss and its metrics don't fit together on JAX: {line(error)}",
                detail="".join(traceback.format_exception(error)),
            ) from error


def _check_step(model: keras.Model) -> None:
    """A step written for TensorFlow changes variables; on JAX it is given their values and gives back new ones."""
    own = type(model).train_step
    if own is keras.Model.train_step:
        return
    places = [each for each in inspect.signature(own).parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
    if len(places) - 1 != ARGUMENTS_OF_STEP:
        raise ModelError(
            f"{type(model).__name__} has a train_step of its own that is not written for JAX: it takes "
            f"{', '.join(each.name for each in places[1:]) or 'nothing'}, expected train_step(self, state, data) as in "
            "Keras' guide on custom steps with JAX. Estimate it with --backend tensorflow."
        )


def _as_fed(dtype: Any) -> Any:
    """JAX has no types of 64 bits unless it is told to."""
    return jax.dtypes.canonicalize_dtype(dtype)
