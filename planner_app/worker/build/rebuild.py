"""From a checked configuration to a Keras model whose variables have shapes and no values.

The model's file is not opened here: what is rebuilt is what the reader took out of it and checked.
"""

import inspect
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import keras
from keras.src.legacy.saving import saving_utils

from planner_app.core.model.description import CheckedModel
from planner_app.errors import ModelError, PlannerError, SetupError
from planner_app.worker.build import edit_config
from planner_app.worker.build import user_code
from planner_app.worker.build.long_models import built_once
from planner_app.worker.build.valueless import without_values

TAKEN_BY_EVERY_LAYER = {"batch_input_shape", "batch_shape", "input_shape", "dtype", "trainable", "name"}
PRECISIONS = ("float32", "mixed_float16", "mixed_bfloat16", "bfloat16", "float16", "float64")


def rebuild(
    model: CheckedModel,
    *,
    precision: str | None = None,
    sizes: Mapping[str, Sequence[int]] | None = None,
    values: bool = False,
) -> keras.Model:
    """The model without its weights, not compiled.

    Args:
        model: What the reader took out of the file.
        precision: A Keras dtype policy for every layer; none: as saved.
        sizes: Sizes of inputs by name, without the batch dimension. Fills unknown ones and replaces known ones.
        values: Variables get the values their initializers make, as those of a new model do.
    """
    if precision is not None and precision not in PRECISIONS:
        raise SetupError(f"{precision!r} is no precision: expected one of {', '.join(PRECISIONS)}.")
    _set_defaults(precision)
    with warnings.catch_warnings(), nullcontext() if values else without_values():
        warnings.simplefilter("ignore")  # Keras' advice to the author of a model; ours go into the description
        built = _from_function(model, precision) if model.format == "python" else _from_config(model, precision, sizes)
        if model.format == "python" and sizes:
            built = _resized(built, sizes)
        return _checked_built(built, model, sizes)


def _set_defaults(precision: str | None) -> None:
    """Keras' process-wide defaults, set each time: a warm worker must not remember the last setup.

    Only float64 needs them. For the others a default policy would make `compile` scale the loss, which training a
    loaded model does not do.
    """
    floatx = "float64" if precision == "float64" else "float32"
    keras.config.set_floatx(floatx)
    keras.config.set_dtype_policy(floatx)


def _from_config(model: CheckedModel, precision: str | None, sizes: Mapping[str, Sequence[int]] | None) -> Any:
    custom = _custom_objects(model)
    with _explained(), built_once():
        config = edit_config.without_training(model.config)
        config = _with_shapes(config, sizes or {})
        if model.legacy:
            config = edit_config.with_accepted_options(config, _accepted_options)
        if precision is not None:
            config = edit_config.with_precision(config, precision)
        return _deserialized(config, custom, legacy=model.legacy)


def _with_shapes(config: dict[str, Any], sizes: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    config = edit_config.with_input_layers(config)
    if not sizes:
        return config
    if edit_config.input_shapes(config):
        return edit_config.with_sizes(config, sizes)
    if len(sizes) > 1:
        raise SetupError(f"The model has one input of unknown shape; sizes for {len(sizes)} came: {', '.join(sizes)}.")
    dims = list(next(iter(sizes.values())))
    if config.get("class_name") == "Sequential":
        return edit_config.with_input_layers(config, dims)
    return {**config, "build_config": {"input_shape": [None, *dims]}}  # a class of the user's: it builds itself


def _deserialized(config: dict[str, Any], custom: dict[str, Any], *, legacy: bool) -> Any:
    if legacy:
        with keras.saving.custom_object_scope(custom):
            return saving_utils.model_from_config(config, custom_objects=custom)
    return keras.saving.deserialize_keras_object(config, custom_objects=custom, safe_mode=True)


@contextmanager
def _explained() -> Iterator[None]:
    """Whatever Keras, a layer's constructor or a user's class comes up with becomes a sentence."""
    try:
        yield
    except PlannerError:
        raise
    except Exception as error:
        raise ModelError(
            f"Keras {keras.__version__} can't rebuild the model from its configuration: {_first_line(error)}",
            detail="".join(traceback.format_exception(error)),
        ) from error


@cache
def _accepted_options(class_name: str) -> frozenset[str] | None:
    """What a layer of Keras can be made with; None for models and for classes that are no layers of Keras."""
    layer = getattr(keras.layers, class_name, None)
    if not inspect.isclass(layer) or not issubclass(layer, keras.layers.Layer) or issubclass(layer, keras.Model):
        return None
    makers = [kind.__init__ for kind in layer.__mro__]  # type: ignore[misc]  # each class's own, and called by nobody
    names = {name for maker in makers for name in inspect.signature(maker).parameters}
    return frozenset(names | TAKEN_BY_EVERY_LAYER)


def _custom_objects(model: CheckedModel) -> dict[str, Any]:
    if model.custom is None:
        return {}
    objects = user_code.custom_objects(user_code.load_module(Path(model.custom)))
    aliases = {}
    for registered in _registered_names(model.config):  # "package>Name": the file may not say which package it was
        name = registered.rpartition(">")[2]
        if name in objects:
            aliases[registered] = objects[name]
    return objects | aliases


def _registered_names(config: Mapping[str, Any]) -> set[str]:
    names: set[str] = set()

    def note(node: dict[str, Any], _role: str) -> dict[str, Any]:
        names.update(str(node[key]) for key in ("registered_name", "class_name") if node.get(key))
        return node

    edit_config.copied(config, note)
    return names


def _from_function(model: CheckedModel, precision: str | None) -> Any:
    if precision is not None:  # the user's function builds under the policy, as it would in the user's script
        keras.config.set_dtype_policy(precision)
    try:
        return user_code.call_function(model.custom or "")
    finally:
        keras.config.set_dtype_policy(keras.config.floatx())


def _resized(built: Any, sizes: Mapping[str, Sequence[int]]) -> Any:
    """A model that a user's function made, with other input sizes: through its own configuration."""
    if not isinstance(built, keras.Model):
        return built
    custom = {type(layer).__name__: type(layer) for layer in built._flatten_layers()}
    with _explained():
        config = edit_config.without_training(keras.saving.serialize_keras_object(built))
        return _deserialized(_with_shapes(config, sizes), custom, legacy=False)


def _checked_built(built: Any, model: CheckedModel, sizes: Mapping[str, Sequence[int]] | None) -> keras.Model:
    if not isinstance(built, keras.Model):
        raise ModelError(f"{model.name!r} gave a {type(built).__name__}, expected a keras.Model.")
    if not built.built and sizes and len(sizes) == 1:
        built.build((None, *next(iter(sizes.values()))))
    if not built.built:
        raise ModelError(
            f"{model.name!r} does not say the shape of its input. Give it, as in --set input=28,28,1, "
            "or save the model after it has been built."
        )
    return built


def _first_line(error: Exception) -> str:
    """Keras' messages quote whole configurations; the first line says what is wrong, `Exception encountered` why."""
    text = str(error).strip()
    _, found, cause = text.rpartition("Exception encountered: ")
    lines = (cause if found else text).strip().splitlines()
    return f"{lines[0][:300] if lines else type(error).__name__} ({type(error).__name__})."
