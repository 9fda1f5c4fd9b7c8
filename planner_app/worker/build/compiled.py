"""How a model is compiled: as its author did it, with what the setup says otherwise."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import keras
from keras.src.legacy.saving import saving_utils
from keras.src.trainers import trainer

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import OWN, Optimizer, StepSetup, parse_named
from planner_app.errors import SetupError
from planner_app.worker.build.expected import has_own_step
from planner_app.worker.build.optimizers import accumulating, make_optimizer, optimizers_of, renewed
from planner_app.worker.build.said import line

ASSUMED_OPTIMIZER, ASSUMED_LOSS = Optimizer("adam"), "mean_squared_error"
UNCOMPILED = "the model is not compiled"
AUTO = "auto"


@contextmanager
def automatic_jit() -> Iterator[None]:
    """What is compiled in here with `jit_compile="auto"` says so, instead of what this machine would make of it."""
    before = trainer.Trainer._resolve_auto_jit_compile
    trainer.Trainer._resolve_auto_jit_compile = lambda _: AUTO
    try:
        yield
    finally:
        trainer.Trainer._resolve_auto_jit_compile = before


def own_jit(model: keras.Model) -> bool | None:
    """What the model's author said about XLA; None for nothing."""
    said = model._jit_compile
    return said if isinstance(said, bool) else None


def compile_model(model: keras.Model, setup: StepSetup, *, jit: bool | str, accumulate: int) -> tuple[str, ...]:
    """The optimizer and the loss are the setup's, where it names some, otherwise the model's own.

    Gives what had to be assumed, a clause each.

    Args:
        jit: Keras' `jit_compile`; "auto" leaves it to the model.
        accumulate: How many steps are added up, where the setup says that some are.
    """
    assumed = []
    if setup.optimizer == OWN and not model.compiled:
        assumed.append(f"optimizer {ASSUMED_OPTIMIZER}: {UNCOMPILED}")
    given = _arguments(model)
    kept = {key: given[key] for key in ("loss", "loss_weights", "metrics", "weighted_metrics") if given.get(key)}
    if setup.loss:
        kept = {"loss": make_loss(setup.loss)}  # what metrics compare is of another shape than before, mostly
    elif not model.compiled and not has_own_step(model) and not model.losses:
        kept = {"loss": ASSUMED_LOSS}
        assumed.append(f"loss {ASSUMED_LOSS}: {UNCOMPILED}")
    optimizer = _optimizer(model, setup, accumulate)
    changed = setup.loss or optimizer is not model.optimizer or not model.compiled
    if changed:
        eagerly, steps = bool(getattr(model, "run_eagerly", False)), getattr(model, "steps_per_execution", None) or 1
        if setup.loss:
            model._compile_metrics = None
        said = own_jit(model)
        try:
            # A `compile` of the author's has done what it does; it takes other arguments than Keras'.
            keras.Model.compile(
                model,
                optimizer=optimizer,
                run_eagerly=eagerly,
                steps_per_execution=steps,
                jit_compile=False,
                **kept,
            )
        except (TypeError, ValueError) as error:
            raise SetupError(f"The model can't be compiled: {line(error)}") from error
        model._jit_compile = said
    _set_jit(model, jit)
    if not has_own_step(model):
        try:
            model.optimizer.build(model.trainable_variables)
        except (TypeError, ValueError) as error:
            raise SetupError(f'Optimizer "{setup.optimizer}" can\'t train this model: {line(error)}') from error
    return tuple(assumed)


def compile_as_saved(model: keras.Model, checked: CheckedModel) -> tuple[str, ...]:
    """As the file says; of what it says, what was found harmless. Gives what had to be assumed."""
    config = {key: value for key, value in (checked.compile_config or {}).items() if value is not None}
    if not config:
        return ()
    try:
        if "optimizer_config" in config or checked.legacy:
            config.setdefault("metrics", None)
            config.setdefault("weighted_metrics", None)
            arguments = saving_utils.compile_args_from_training_config(config, {})
        else:
            arguments = {key: _deserialized(value) for key, value in config.items()}
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise SetupError(
            f"The saved compilation can't be used: {line(error)} Give --optimizer and --loss instead."
        ) from error
    assumed = []
    if not arguments.get("optimizer"):
        arguments["optimizer"] = make_optimizer(ASSUMED_OPTIMIZER)
        assumed.append(f"optimizer {ASSUMED_OPTIMIZER}: the saved one is not Keras' own")
    if not arguments.get("loss") and not has_own_step(model) and not model.losses:
        arguments["loss"] = ASSUMED_LOSS
        assumed.append(f"loss {ASSUMED_LOSS}: the file does not say one that is Keras' own")
    arguments["jit_compile"] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.compile(**arguments)
        except TypeError:
            if type(model).compile is keras.Model.compile:
                raise
            return ()  # a `compile` of the author's with arguments of its own, which Keras does not save
    model._jit_compile = None  # what was saved is what "auto" came to on the machine that saved it
    return tuple(assumed)


def make_loss(text: str) -> Any:
    """A Keras loss by name, with options as in `sparse_categorical_crossentropy:from_logits=true`."""
    name, options = parse_named(text, "loss")
    try:
        if not options:
            keras.losses.get(name)
            return name
    except ValueError as error:
        raise SetupError(f'"{name}" is not a loss of Keras: {line(error)}') from error
    classes = {
        each.lower(): kind
        for each, kind in vars(keras.losses).items()
        if isinstance(kind, type) and issubclass(kind, keras.losses.Loss) and each != "Loss"
    }
    kind = classes.get(name.replace("_", "").lower())
    if kind is None:
        raise SetupError(f'"{name}" is not a loss of Keras with options: expected one of {", ".join(sorted(classes))}.')
    try:
        return kind(**dict(options))
    except (TypeError, ValueError) as error:
        raise SetupError(f'Loss "{text}" can\'t be made: {line(error)}') from error


def _arguments(model: keras.Model) -> dict[str, Any]:
    """What Keras' `compile` was called with."""
    kept = getattr(model, "_compile_config", None)
    return dict(kept.config) if kept is not None and model.compiled else {}


def _optimizer(model: keras.Model, setup: StepSetup, accumulate: int) -> Any:
    if setup.optimizer != OWN:
        if has_own_step(model) and len(optimizers_of(model)) > 1:
            raise SetupError(
                f"The model trains with {len(optimizers_of(model))} optimizers of its own: leave --optimizer out."
            )
        return make_optimizer(setup.optimizer, accumulates=setup.accumulates, accumulate=accumulate)
    own = model.optimizer if model.compiled else None
    if own is None:
        if model.compiled and has_own_step(model):
            return None
        return make_optimizer(ASSUMED_OPTIMIZER, accumulates=setup.accumulates, accumulate=accumulate)
    if setup.accumulates:
        return accumulating(own, accumulate)
    if own.built and not has_own_step(model):
        return renewed(own)  # built for other variables, if some were frozen since
    return own


def _set_jit(model: keras.Model, jit: bool | str) -> None:
    if jit == AUTO:
        said = own_jit(model)
        model._jit_compile = None
        jit = said if said is not None else model._resolve_auto_jit_compile()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.jit_compile = jit


def _deserialized(saved: Any) -> Any:
    """An object, or several in lists or by name."""
    if isinstance(saved, Mapping) and "class_name" not in saved:
        return {key: _deserialized(value) for key, value in saved.items()}
    if isinstance(saved, list):
        return [_deserialized(value) for value in saved]
    return keras.saving.deserialize_keras_object(saved) if isinstance(saved, Mapping) else saved
