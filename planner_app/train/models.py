"""A saved model as a plan trains it, and data of the right shapes to try a script with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras

from planner_app.core.model.setup import OWN
from planner_app.errors import PlanError

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan

FLOATING = ("float", "bfloat", "mixed_")
LABELS = 2  # every vocabulary and every classifier has a first and a second


def load_model(plan: "TrainingPlan", path: str, custom_objects: Mapping[str, Any] | None) -> Any:
    """With the plan's precision, rematerialisation and adapters, and without the layers that it freezes."""
    with plan.scope():
        own = plan.plan.training.optimizer.name == OWN.name
        model = _read(path, custom_objects, compiled=own or not plan.plan.training.loss)
        if plan.plan.training.remat or any(
            layer.dtype_policy.name != plan.precision for layer in model.layers if _floating(layer.dtype_policy.name)
        ):
            model = _rebuilt(model, plan.precision, custom_objects)
        plan.fine_tune(model)
        plan.freeze(model)
    return model


def keep_compiled(plan: "TrainingPlan", model: Any, optimizer: Any = None, loss: Any = None) -> Any:
    """Without what a saved optimizer brings along of the training before."""
    if not model.compiled and optimizer is None:
        raise PlanError("The plan trains the model as it is compiled, and it isn't: call model.compile() first.")
    own = getattr(model, "optimizer", None)
    if own is not None and own.built:
        own = type(own).from_config(own.get_config())
    if optimizer is None and loss is None:
        model.optimizer = own
    else:  # Keras' own: a `compile` of the author's has done what it does, and takes other arguments
        keras.Model.compile(model, optimizer=optimizer or own, **_kept(model, loss))
    model.jit_compile = plan.current.jit
    return model


def _kept(model: Any, loss: Any) -> dict[str, Any]:
    """What the author's `compile` said of losses and metrics; metrics compare what the author's loss compares."""
    if loss is not None:
        return {"loss": loss}
    compiled = getattr(model, "_compile_config", None)
    given = dict(compiled.config) if compiled is not None and model.compiled else {}
    names = ("loss", "loss_weights", "metrics", "weighted_metrics", "run_eagerly", "steps_per_execution")
    return {name: given[name] for name in names if given.get(name)}


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
    import tensorflow as tf

    about = sample_of(plan, model)
    inputs = [_noise(tensor) for tensor in about.inputs]
    targets = {name: _noise(tensor) for name, tensor in about.targets.items()}

    def sample(number: Any) -> Any:
        x = about.as_inputs([make(number) for make in inputs])
        y = about.as_targets({name: make(number) for name, make in targets.items()})
        return tuple(x) if isinstance(x, list) else x, y  # datasets take no lists

    return tf.data.Dataset.range(samples).map(sample)


@dataclass(frozen=True, slots=True)
class Tensor:
    """Of one sample."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def integral(self) -> bool:
        return "int" in self.dtype or self.dtype == "bool"


@dataclass(frozen=True, slots=True)
class Sample:
    """What a model takes and its loss compares with.

    Attributes:
        taken: The inputs as the model nests them.
        by_name: Whether targets are given by the names of the outputs.
    """

    inputs: tuple[Tensor, ...]
    taken: Any
    targets: Mapping[str, Tensor]
    by_name: bool

    def as_inputs(self, values: list[Any]) -> Any:
        return _packed(self.taken, values)

    def as_targets(self, values: dict[str, Any]) -> Any:
        if self.by_name:
            return values
        return next(iter(values.values())) if len(values) == 1 else tuple(values.values())


def sample_of(plan: "TrainingPlan", model: Any) -> Sample:
    sizes = plan.plan.training.sizes
    shapes = [_known(each.name, each.shape, sizes) for each in model.inputs]
    functional = getattr(model, "_functional", None) or model  # what a Sequential is made of
    taken = getattr(functional, "_inputs_struct", list(model.inputs))  # `model.input` exists once a model was called
    outputs = model.compute_output_shape(_packed(taken, [(1, *shape) for shape in shapes]))
    named = outputs if isinstance(outputs, dict) else None
    if named is None:
        outputs = dict(zip(functional.output_names, [outputs] if isinstance(outputs, tuple) else outputs, strict=True))
    losses = _losses(model.loss, list(outputs))
    dtypes = [keras.backend.standardize_dtype(each.dtype) for each in model.inputs]
    return Sample(
        inputs=tuple(map(Tensor, shapes, dtypes)),
        taken=taken,
        targets={name: _target(outputs[name], loss) for name, loss in losses.items()},
        by_name=named is not None or (len(outputs) > 1 and isinstance(model.loss, dict)),
    )


def _packed(structure: Any, values: list[Any]) -> Any:
    """As the model takes its inputs: one, several, or by name."""
    return (
        values[0]
        if len(values) == 1 and not isinstance(structure, dict)
        else keras.tree.pack_sequence_as(structure, values)
    )


def _losses(loss: Any, names: list[str]) -> dict[str, Any]:
    """The loss of each output that has one."""
    if isinstance(loss, dict):
        return {name: loss[name] for name in names if loss.get(name) is not None}
    each = loss if isinstance(loss, (list, tuple)) else [loss] * len(names)
    return dict(zip(names, each, strict=True))


def _target(shape: Sequence[int], loss: Any) -> Tensor:
    sparse = "sparse" in _loss_name(loss)
    return Tensor(tuple(shape[1:-1] if sparse else shape[1:]), "int32" if sparse else "float32")


def _noise(tensor: Tensor) -> Any:
    import tensorflow as tf

    def make(number: Any) -> Any:
        seed = tf.stack([tf.cast(number, tf.int32), 1])
        if tensor.integral:
            return tf.cast(tf.random.stateless_uniform(tensor.shape, seed, 0, LABELS, tf.int32), tensor.dtype)
        return tf.cast(tf.random.stateless_uniform(tensor.shape, seed), tensor.dtype)

    return make


def _known(name: str, shape: Sequence[int | None], sizes: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    dims = tuple(sizes.get(name, shape[1:]))
    if any(size is None for size in dims):
        raise PlanError(f"The sizes of {name!r} are not known: make the plan with --set {name}=..., or use your data.")
    return tuple(int(size or 0) for size in dims)


def _loss_name(loss: Any) -> str:
    return str(loss if isinstance(loss, str) else getattr(loss, "name", "") or getattr(loss, "__name__", "")).lower()
