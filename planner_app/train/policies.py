"""The plan's precision, rematerialisation, optimizer and frozen layers, as Keras takes them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from typing import Any

import keras

from planner_app.core.model.choices import REMAT_MODES
from planner_app.core.model.setup import OWN, parse_named
from planner_app.core.plan.plan import PlannedOptimizer
from planner_app.errors import PlanError
from planner_app.train.notes import note

WRAPPERS = ("lossscaleoptimizer", "multioptimizer", "optimizer")
OWN_OPTION = "gradient_accumulation_steps"


@contextmanager
def precision_and_remat(precision: str, remat: str) -> Iterator[None]:
    """Layers made inside have the policy; afterwards the script's own is back."""
    before = keras.config.dtype_policy()
    with ExitStack() as stack:
        stack.callback(keras.config.set_dtype_policy, before)
        keras.config.set_dtype_policy(precision)
        if remat:
            stack.enter_context(_remat(remat))
        yield


def _remat(mode: str) -> Any:
    name, _, argument = mode.partition(":")
    if name not in REMAT_MODES:
        raise PlanError(f"The plan rematerialises by {mode[:80]!r}: expected one of {', '.join(REMAT_MODES)}.")
    if name == "larger_than":
        return keras.RematScope(mode=name, output_size_threshold=int(argument) if argument.isdecimal() else 1024)
    if name == "list_of_layers":
        return keras.RematScope(mode=name, layer_names=[part for part in argument.split("+") if part])
    return keras.RematScope(mode=name)


def make_optimizer(planned: PlannedOptimizer, name: str | None, options: Mapping[str, Any]) -> Any:
    """By its name in Keras' own list, so a plan can't bring a class of its own."""
    if OWN_OPTION in options:
        raise PlanError(
            f"{OWN_OPTION} is the plan's to choose: plan.fit() accumulates gradients by itself. Leave it out."
        )
    wanted = (name or planned.name).lower()
    if wanted == OWN.name:
        raise PlanError("The plan trains with the model's own optimizer: call plan.keep_compiled(model) instead.")
    known = _optimizers()
    if wanted not in known:
        raise PlanError(f"Keras {keras.__version__} has no optimizer {wanted!r}: expected one of {', '.join(known)}.")
    merged = dict(planned.options) if wanted == planned.name else {}
    merged.pop(OWN_OPTION, None)
    scaled = merged.pop("loss_scaling", False)
    if wanted != planned.name:
        note(f"The plan was made for {planned.name}, and this is {wanted}: its memory may be another.")
    for key, value in options.items():
        if key in merged and merged[key] != value:
            note(f"The plan was made for {planned.name} with {key}={merged[key]}, and this is {value}.")
    try:
        optimizer = known[wanted](**{**merged, **options})
    except (TypeError, ValueError) as error:
        raise PlanError(f"The optimizer {wanted} can't be made: {str(error).splitlines()[0][:300]}") from error
    return keras.optimizers.LossScaleOptimizer(optimizer) if scaled else optimizer


def make_loss(text: str) -> Any:
    """By its name in Keras' own list, with options: `huber:delta=2`."""
    if not text:
        raise PlanError("The plan trains with the model's own loss: call plan.keep_compiled(model) instead.")
    name, options = parse_named(text, "loss")
    if not options:
        return name
    known = {
        each.lower(): kind
        for each, kind in vars(keras.losses).items()
        if isinstance(kind, type) and issubclass(kind, keras.losses.Loss) and each != "Loss"
    }
    try:
        return known[name.replace("_", "").lower()](**dict(options))
    except (KeyError, TypeError, ValueError) as error:
        raise PlanError(f"The loss {text[:80]!r} can't be made: {str(error).splitlines()[0][:300]}") from error


def optimizer_name(optimizer: Any) -> str:
    """As a plan calls it; loss scaling does not count."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    return type(inner).__name__.lower()


def _optimizers() -> dict[str, Any]:
    found = {
        name.lower(): kind
        for name, kind in vars(keras.optimizers).items()
        if isinstance(kind, type) and issubclass(kind, keras.optimizers.Optimizer)
    }
    return {name: found[name] for name in sorted(found) if name not in WRAPPERS}


def freeze(model: Any, patterns: tuple[str, ...]) -> None:
    for pattern in patterns:
        found = [layer for layer in layers_of(model) if _matches(layer, pattern)]
        if not found:
            raise PlanError(f"The plan does not train {pattern!r}, and this model has no layer of that name.")
        for layer in found:
            layer.trainable = False


def lower_precision(model: Any, precision: str) -> None:
    """Another policy for a model that is in training: only one that keeps the variables as they are."""
    if precision != "mixed_bfloat16" or any(layer.variable_dtype != "float32" for layer in layers_of(model)):
        raise PlanError(
            f"The next rung is {precision}, which a model in training can't change to: save its weights and start "
            "again with load_plan(..., rung=N)."
        )
    for layer in [*layers_of(model), model]:
        mode = getattr(layer.dtype_policy, "quantization_mode", None)
        layer.dtype_policy = f"{mode}_from_{precision}" if mode else precision


def layers_of(model: Any) -> list[Any]:
    """All layers, also those inside other layers."""
    return list(model._flatten_layers(include_self=False))


def _matches(layer: Any, pattern: str) -> bool:
    return fnmatchcase(layer.name, pattern) or fnmatchcase(str(getattr(layer, "path", "") or ""), pattern)
