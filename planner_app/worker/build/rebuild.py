"""From a checked configuration to a Keras model whose variables have shapes and no values.

The model's file is not opened here: what is rebuilt is what the reader took out of it and checked.
"""

import inspect
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import keras
from keras.src.legacy.saving import saving_utils

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.fine_tune import restore_layers
from planner_app.errors import ModelError, PlannerError, SetupError
from planner_app.worker.build import edit_config, user_code
from planner_app.worker.build.backend import FAILURES, output_shapes, without_values
from planner_app.worker.build.countable import check_countable, is_overflow, too_large
from planner_app.worker.build.inputs import inputs_of
from planner_app.worker.build.long_models import built_once
from planner_app.worker.build.packages import import_trusted, without_preprocessors
from planner_app.worker.build.preprocessing import preprocessed, preprocessed_sizes
from planner_app.worker.build.said import line
from planner_app.worker.build.saved.values import not_loaded
from planner_app.worker.training.compiled import automatic_jit, compile_as_saved
from planner_app.worker.training.expected import has_own_step, input_slots
from planner_app.worker.training.feed import Feed, given_feed

UNRESTORED = "every layer trained as its configuration says: the live model's layers are not found in the rebuilt one"
TAKEN_BY_EVERY_LAYER = {"batch_input_shape", "batch_shape", "input_shape", "dtype", "trainable", "name"}
BUILT_WITH_BATCH = 2
PRECISIONS = ("float32", "mixed_float16", "mixed_bfloat16", "bfloat16", "float16", "float64")


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A model as its author has it.

    Attributes:
        data: One batch of what it is trained on, or specs of it; None where its author does not say.
        sizes: Of inputs that the model leaves open, by name and without the batch: what its preprocessor makes.
        assumed: What of its compilation can't be taken over, a clause each.
    """

    model: keras.Model
    data: Any = None
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()


def rebuild(
    model: CheckedModel,
    *,
    precision: str | None = None,
    sizes: Mapping[str, Sequence[int]] | None = None,
    values: bool = False,
) -> keras.Model:
    """The model without its weights, compiled as its author did it, if it was."""
    return rebuilt(model, precision=precision, sizes=sizes, values=values).model


def rebuilt(
    model: CheckedModel,
    *,
    precision: str | None = None,
    sizes: Mapping[str, Sequence[int]] | None = None,
    values: bool = False,
) -> Rebuilt:
    """The model, and what its author says it is trained on.

    Args:
        model: What the reader took out of the file.
        precision: A Keras dtype policy for every layer; none: as saved.
        sizes: Sizes of inputs by name, without the batch dimension. Fills unknown ones and replaces known ones.
        values: Variables get the values their initializers make, as those of a new model do.
    """
    if precision is not None and precision not in PRECISIONS:
        raise SetupError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}.")
    _set_defaults(precision)
    with warnings.catch_warnings(), automatic_jit(), nullcontext() if values else without_values():
        warnings.simplefilter("ignore")  # Keras' advice to the author of a model; ours go into the description
        if model.format == "python":
            built = _with_data(_from_function(model, precision), model)
            return _checked_built(replace(built, model=_resized(built.model, sizes or {})), model, sizes or {})
        import_trusted(model)
        custom = _custom_objects(model)
        with keras.saving.custom_object_scope(custom):
            built = _checked_built(_with_data(_from_config(model, precision, sizes, custom), model), model, sizes or {})
            assumed = () if restore_layers(built.model, model.layers) else (UNRESTORED,)
            return replace(built, assumed=assumed + compile_as_saved(built.model, model))


def _set_defaults(precision: str | None) -> None:
    """Keras' process-wide defaults, set each time: a warm worker must not remember the last setup.

    Only float64 needs them. For the others a default policy would make `compile` scale the loss, which training a
    loaded model does not do.
    """
    floatx = "float64" if precision == "float64" else "float32"
    keras.config.set_floatx(floatx)
    keras.config.set_dtype_policy(floatx)


def _from_config(
    model: CheckedModel, precision: str | None, sizes: Mapping[str, Sequence[int]] | None, custom: dict[str, Any]
) -> Any:
    with _explained(), built_once():
        config = edit_config.without_training(model.config)
        if model.trusted or model.format == "live":
            config = without_preprocessors(config)
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
    dims = list(next(iter(sizes.values())))
    if len(sizes) > 1:
        return config  # a class that makes its own inputs: what it leaves open is filled when its step is traced
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
    except (Exception, SystemExit) as error:
        if is_overflow(error):
            raise too_large() from error
        raise ModelError(
            f"Keras {keras.__version__} can't rebuild the model from its configuration: {_first_line(error)}",
            detail="".join(traceback.format_exception(error)),
        ) from error


@cache
def _accepted_options(class_name: str) -> frozenset[str] | None:
    """The arguments that a Keras layer takes; None for models and for classes that are not Keras layers."""
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
        with not_loaded():
            return user_code.call_function(model.custom or "")
    finally:
        keras.config.set_dtype_policy(keras.config.floatx())


def _with_data(built: Any, model: CheckedModel) -> Rebuilt:
    """Functions may return the model together with a batch: `model, (x, y)`."""
    data = None
    if isinstance(built, (tuple, list)) and built and isinstance(built[0], keras.Model):
        built, data = built[0], built[1] if len(built) == 2 else tuple(built[1:])
    if not isinstance(built, keras.Model):
        raise ModelError(f"{model.name!r} gave a {type(built).__name__}, expected a keras.Model.")
    if model.data is not None:
        data = user_code.call_function(model.data)
    return Rebuilt(built, preprocessed(built, data), preprocessed_sizes(built, model))


def _resized(built: keras.Model, sizes: Mapping[str, Sequence[int]]) -> keras.Model:
    """A model that a user's function made, with other input sizes than its own: through its own configuration.

    Sizes that the model leaves open are filled when its step is traced, as they are when it is trained.
    """
    known = {tensor.name: tensor.shape[1:] for tensor in inputs_of(built)}
    unknown = [name for name in sizes if name not in known]
    if known and unknown:
        raise SetupError(f"The model has no input named {unknown[0]!r}: its inputs are {', '.join(known)}.")
    if all(_is_open(known.get(name, ()), dims) for name, dims in sizes.items()):
        return built
    custom = {type(layer).__name__: type(layer) for layer in built._flatten_layers()}
    with _explained():
        config = edit_config.without_training(keras.saving.serialize_keras_object(built))
        resized = _deserialized(_with_shapes(config, sizes), custom, legacy=False)
    if built.compiled:
        resized.compile(**built._compile_config.config)
    return resized


def _is_open(shape: Sequence[int | None], dims: Sequence[int]) -> bool:
    return not shape or (
        len(shape) == len(dims) and all(size in (None, wanted) for size, wanted in zip(shape, dims, strict=True))
    )


def _checked_built(rebuilt: Rebuilt, model: CheckedModel, sizes: Mapping[str, Sequence[int]]) -> Rebuilt:
    built = rebuilt.model
    check_countable(built)
    if _is_complete(built):
        return rebuilt
    if rebuilt.data is not None:
        _build_on(built, given_feed(rebuilt.data))
    elif inputs_of(built):  # `build` was told a shape, and its layers nothing yet
        with suppress(SetupError):  # of a size that is left open: it is given when the step is traced
            _build_on(built, Feed((input_slots(built),)).filled({name: tuple(each) for name, each in sizes.items()}))
    elif sizes and len(sizes) == 1:
        built.build((None, *next(iter(sizes.values()))))
    if not built.built and not has_own_step(built):
        raise ModelError(
            f"{model.name!r} does not say the shape of its input. Give it, as in --set input=28,28,1, give a batch of "
            "data with --data file.py:function, or save the model after it has been built."
        )
    return rebuilt


def _is_complete(model: keras.Model) -> bool:
    known = model.built or bool(inputs_of(model))
    if has_own_step(model) or getattr(model, "inputs", None):
        return known
    return known and all(layer.built for layer in model._flatten_layers())


def _build_on(model: keras.Model, feed: Feed) -> None:
    """By its first call, as training does it. A model that only its own step calls is built by that."""
    structure = feed.specs(BUILT_WITH_BATCH)
    try:
        inputs, _, _ = keras.utils.unpack_x_y_sample_weight(structure)
        if isinstance(model, keras.Sequential) and not keras.tree.is_nested(inputs):
            model.build((None, *inputs.shape[1:]))  # called, it would take the batch size for a part of its shape
        else:
            output_shapes(lambda x: model(x), inputs)
    except FAILURES as error:
        if not (has_own_step(model) or model.built):
            raise ModelError(f"The model can't be called on the data: {line(error)}") from error


def _first_line(error: BaseException) -> str:
    """Keras' messages quote whole configurations; the first line says what is wrong, `Exception encountered` why."""
    text = str(error).strip()
    _, found, cause = text.rpartition("Exception encountered: ")
    lines = (cause if found else text).strip().splitlines()
    return f"{lines[0][:300] if lines else type(error).__name__} ({type(error).__name__})."
