"""A saved model as a plan trains it, and data of the right shapes to try a script with."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import tensorflow as tf

from planner_app.core.model.setup import OWN
from planner_app.errors import PlanError

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan

FLOATING = ("float", "bfloat", "mixed_")
LABELS = 2  # every vocabulary and every classifier has a first and a second


def load_model(plan: "TrainingPlan", path: str, custom_objects: Mapping[str, Any] | None) -> Any:
    """With the plan's precision and rematerialisation, and without the layers that it freezes."""
    with plan.scope():
        own = plan.plan.training.optimizer.name == OWN.name
        model = _read(path, custom_objects, compiled=own or not plan.plan.training.loss)
        if plan.plan.training.remat or any(
            layer.dtype_policy.name != plan.precision for layer in model.layers if _floating(layer.dtype_policy.name)
        ):
            model = _rebuilt(model, plan.precision, custom_objects)
        plan.freeze(model)
    return model


def keep_compiled(plan: "TrainingPlan", model: Any) -> Any:
    """Without what a saved optimizer brings along of the training before."""
    if not model.compiled:
        raise PlanError("The plan trains the model as it is compiled, and it isn't: call model.compile() first.")
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None and optimizer.built:
        model.optimizer = type(optimizer).from_config(optimizer.get_config())
    model.jit_compile = plan.current.jit
    return model


def _read(path: str, custom_objects: Mapping[str, Any] | None, compiled: bool) -> Any:
    """A saved optimizer would bring its state along, which nobody wants; but a loss without a name is only there."""
    if Path(path).is_dir():
        raise PlanError(f"{path!r} is a folder of Keras 2, which Keras 3 can't train: save the model as a .keras file.")
    try:
        if path.endswith(".json"):
            return keras.models.model_from_json(Path(path).read_text(encoding="utf-8"), custom_objects=custom_objects)
        return keras.models.load_model(path, custom_objects=custom_objects, compile=compiled)
    except (OSError, ValueError, TypeError) as error:
        said = " ".join((str(error).strip().splitlines() or [type(error).__name__])[0].split())
        raise PlanError(f"The model {path!r} can't be loaded: {said[:300]}") from error


def _rebuilt(model: Any, precision: str, custom_objects: Mapping[str, Any] | None) -> Any:
    """The same layers and weights in another precision. A model in training can't change its variables' type."""
    try:
        with keras.saving.custom_object_scope(dict(custom_objects or {})):
            other = type(model).from_config(with_precision(model.get_config(), precision))
    except (TypeError, ValueError, NotImplementedError) as error:
        raise PlanError(
            f"The model can't be rebuilt in {precision}: {str(error).splitlines()[0][:300]} Build it inside "
            "`with plan.scope():` instead."
        ) from error
    other.set_weights(model.get_weights())
    if getattr(model, "loss", None) is not None:
        other.compile_from_config(model.get_compile_config())
    return other


def with_precision(tree: Any, precision: str) -> Any:
    """A configuration in which every layer that computes in floating point does so in this precision."""
    if isinstance(tree, Mapping):
        copy = {key: with_precision(value, precision) for key, value in tree.items()}
        policy = copy.get("dtype")
        if isinstance(policy, Mapping) and "DTypePolicy" in str(policy.get("class_name")):
            inner = policy.get("config")
            if isinstance(inner, Mapping) and _floating(str(inner.get("name"))):
                copy["dtype"] = precision
        return copy
    return [with_precision(value, precision) for value in tree] if isinstance(tree, (list, tuple)) else tree


def _floating(name: str) -> bool:
    return name.startswith(FLOATING)


def synthetic_data(plan: "TrainingPlan", model: Any, samples: int) -> Any:
    """Single samples of noise, as many as asked for: inputs and targets of the shapes the model and its loss take."""
    sizes = plan.plan.training.sizes
    shapes = [_known(each.name, each.shape, sizes) for each in model.inputs]
    inputs = [_noise(shape, each.dtype) for shape, each in zip(shapes, model.inputs, strict=True)]
    outputs = model.compute_output_shape([(1, *shape) for shape in shapes] if len(shapes) > 1 else (1, *shapes[0]))
    outputs = [outputs] if isinstance(outputs, tuple) else list(outputs)
    sparse = "sparse" in _loss_name(model)
    targets = [_noise(shape[1:-1] if sparse else shape[1:], "int32" if sparse else "float32") for shape in outputs]

    def sample(number: Any) -> Any:
        made = [make(number) for make in inputs], [make(number) for make in targets]
        x, y = (tuple(part) if len(part) > 1 else part[0] for part in made)
        return x, y

    return tf.data.Dataset.range(samples).map(sample)


def _noise(shape: Sequence[int], dtype: Any) -> Any:
    name = keras.backend.standardize_dtype(dtype)
    integral = "int" in name or name == "bool"

    def make(number: Any) -> Any:
        seed = tf.stack([tf.cast(number, tf.int32), 1])
        if integral:
            return tf.cast(tf.random.stateless_uniform(shape, seed, 0, LABELS, tf.int32), name)
        return tf.cast(tf.random.stateless_uniform(shape, seed), name)

    return make


def _known(name: str, shape: Sequence[int | None], sizes: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    dims = tuple(sizes.get(name, shape[1:]))
    if any(size is None for size in dims):
        raise PlanError(f"The sizes of {name!r} are not known: make the plan with --set {name}=..., or use your data.")
    return tuple(int(size or 0) for size in dims)


def _loss_name(model: Any) -> str:
    loss = model.loss
    if isinstance(loss, (list, tuple, dict)):
        loss = next(iter(loss.values() if isinstance(loss, dict) else loss), "")
    return str(loss if isinstance(loss, str) else getattr(loss, "name", "") or getattr(loss, "__name__", "")).lower()
