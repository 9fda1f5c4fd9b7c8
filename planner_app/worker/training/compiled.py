"""How a model is compiled: as its author did it, with what the setup says otherwise."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import keras
from keras.src.backend.common import global_state
from keras.src.trainers import trainer

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import OWN, Optimizer, StepSetup, parse_named
from planner_app.errors import SetupError
from planner_app.worker.build.edit_config import copied
from planner_app.worker.build.said import line
from planner_app.worker.training.expected import adds_losses, has_own_step
from planner_app.worker.training.optimizers import accumulating, make_optimizer, optimizers_of, renewed

ASSUMED_OPTIMIZER, ASSUMED_LOSS = Optimizer("adam"), "mean_squared_error"
UNCOMPILED, WITHOUT_LOSS = "the model is not compiled", "the model is compiled without one"
NOT_AS_SAVED = f"Keras {keras.__version__} can't compile the model as it was saved"
AUTO = "auto"
KERAS_2_OPTIONS = {"lr": "learning_rate"}


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


def compile_model(model: keras.Model, setup: StepSetup, *, jit: bool | str | None, accumulate: int) -> tuple[str, ...]:
    """The optimizer and the loss are the setup's, where it names some, otherwise the model's own.

    Gives what had to be assumed, a clause each.

    Args:
        jit: Keras' `jit_compile`; "auto" leaves it to the model, None leaves what its author said as it is.
        accumulate: How many steps are added up, where the setup says that some are.
    """
    assumed = []
    if setup.optimizer == OWN and not model.compiled:
        assumed.append(f"optimizer {ASSUMED_OPTIMIZER}: {UNCOMPILED}")
    given = _arguments(model)
    kept = {key: given[key] for key in ("loss", "loss_weights", "metrics", "weighted_metrics") if given.get(key)}
    if setup.loss:
        kept = {"loss": make_loss(setup.loss)}  # what metrics compare is of another shape than before, mostly
    elif not kept.get("loss") and model.loss is None and not has_own_step(model) and not adds_losses(model):
        kept["loss"] = ASSUMED_LOSS
        assumed.append(f"loss {ASSUMED_LOSS}: {WITHOUT_LOSS if model.compiled else UNCOMPILED}")
    optimizer = _optimizer(model, setup, accumulate)
    changed = (
        setup.loss or not model.compiled or optimizer is not model.optimizer or ("loss" in kept and model.loss is None)
    )
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
    if jit is not None:
        _set_jit(model, jit)
    if not has_own_step(model):
        try:
            model.optimizer.build(model.trainable_variables)
        except (TypeError, ValueError) as error:
            raise SetupError(f'Optimizer "{setup.optimizer}" can\'t train this model: {line(error)}') from error
    return tuple(assumed)


def compile_as_saved(model: keras.Model, checked: CheckedModel) -> tuple[str, ...]:
    """As the file says; of what it says, what was found harmless and Keras can restore. Gives what was assumed instead.

    Whether XLA compiles the step is not taken over: what was saved is what "auto" came to on the machine that saved it.
    """
    config = {key: value for key, value in copied(checked.compile_config or {}).items() if value is not None}
    if not config:
        return ()
    assumed = []
    arguments = {key: config[key] for key in ("run_eagerly", "steps_per_execution") if config.get(key)}
    optimizer = _restored(_saved_optimizer, config.get("optimizer") or config.get("optimizer_config"))
    if optimizer is None:
        optimizer = make_optimizer(ASSUMED_OPTIMIZER)
        assumed.append(f"optimizer {ASSUMED_OPTIMIZER}: Keras {keras.__version__} can't restore the saved one")
    loss = _restored(partial(_each, keras.losses.deserialize), config.get("loss"))
    if loss is None and not has_own_step(model) and (config.get("loss") or not adds_losses(model)):
        loss = ASSUMED_LOSS
        assumed.append(f"loss {ASSUMED_LOSS}: the file has none that Keras {keras.__version__} can restore")
    for key in ("metrics", "weighted_metrics"):
        metrics = _restored(partial(_each, keras.metrics.deserialize), config.get(key))
        if metrics:
            arguments[key] = metrics
    if loss is not None:
        arguments |= {"loss": loss, "loss_weights": config.get("loss_weights")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.compile(optimizer=optimizer, **arguments)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            if isinstance(error, TypeError) and type(model).compile is not keras.Model.compile:
                return ()  # a `compile` of the author's with arguments of its own, which Keras does not save
            assumed = [f"optimizer {ASSUMED_OPTIMIZER}: {NOT_AS_SAVED}", f"loss {ASSUMED_LOSS}: {NOT_AS_SAVED}"]
            keras.Model.compile(model, optimizer=make_optimizer(ASSUMED_OPTIMIZER), loss=ASSUMED_LOSS)
    model._jit_compile = None
    return tuple(assumed)


def _restored(restore: Callable[[Any], Any], saved: Any) -> Any:
    """None for nothing, and for what another version of Keras wrote and this one does not know."""
    if saved is None:
        return None
    try:
        return restore(saved)
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def _saved_optimizer(saved: Any) -> Any:
    if isinstance(saved, Mapping) and isinstance(saved.get("config"), Mapping) and "module" not in saved:
        kind = type(make_optimizer(Optimizer(str(saved["class_name"]).lower())))
        makers = [each.__init__ for each in kind.__mro__]  # type: ignore[misc]  # each class's own, and called by nobody
        known = {name for maker in makers for name in inspect.signature(maker).parameters}
        options = {KERAS_2_OPTIONS.get(key, key): value for key, value in saved["config"].items()}
        return kind.from_config({key: value for key, value in options.items() if key in known})
    if isinstance(saved, str):
        return keras.optimizers.get(saved)
    # Not `keras.optimizers.deserialize`: Keras 3.15.1 leaves Lamb out of its list there, and gives back the name.
    return keras.saving.deserialize_keras_object(saved)


def _each(restore: Callable[[Any], Any], saved: Any) -> Any:
    """An object, or several in lists or by name. Names stay names: Keras knows them."""
    if isinstance(saved, Mapping) and "class_name" not in saved:
        return {key: _each(restore, value) for key, value in saved.items()}
    if isinstance(saved, (list, tuple)):
        return [_each(restore, value) for value in saved]
    if not isinstance(saved, Mapping):
        return saved
    offered = global_state.get_global_attribute("custom_objects_scope_dict", {})
    if saved["class_name"] == "function" and saved.get("config") in offered:
        return offered[saved["config"]]  # Keras looks for those only in what it is given beside
    restored = restore(saved)
    if isinstance(restored, str):  # the name again: Keras knows nothing behind it
        raise ValueError(restored)
    return restored


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
