"""What a rebuilt model is, in plain values: layers, inputs and outputs, totals, what was saved of its training."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import keras
import ml_dtypes  # noqa: F401 - NumPy knows bfloat16 and float8 by it
import numpy as np

from planner_app.core.model.description import CheckedModel, Layer, ModelDescription, TensorShape
from planner_app.worker.build.inputs import Tensor, inputs_of, outputs_of
from planner_app.worker.build.rebuild import Rebuilt
from planner_app.worker.build.saved.weights import first_difference
from planner_app.worker.training.expected import has_own_step, loss_name, named_after_inputs, written_batch
from planner_app.worker.training.feed import UNKNOWN as UNSAID
from planner_app.worker.training.feed import given_feed
from planner_app.worker.training.optimizers import optimizers_of
from planner_app.worker.training.training_text import loss_text, optimizer_text, optimizers_text

BATCH = "batch"
OWN_LOSS = "the model's own"
UNKNOWN = "?"  # an unknown size inside the graph; the names of unknown input sizes say where it comes from


def description_of(made: Rebuilt, checked: CheckedModel) -> ModelDescription:
    model = made.model
    walk = _Walk(frozenset(id(v) for v in model.trainable_weights))
    layers = tuple(_named_once(walk.layers_of(model, "")))
    inputs = _input_shapes(made)
    training = _training(model, checked)
    unknown = tuple(n for tensor in inputs for n in tensor.shape if isinstance(n, str) and n != BATCH)
    return ModelDescription(
        name=checked.name if checked.format == "python" else model.name,
        class_name=type(model).__name__,
        format=checked.format,
        layers=layers,
        inputs=inputs,
        outputs=tuple(TensorShape(t.name, _shape(t.shape), t.dtype) for t in outputs_of(model)),
        trainable_params=sum(layer.trainable_params for layer in layers),
        frozen_params=sum(layer.frozen_params for layer in layers),
        weight_bytes=sum(layer.weight_bytes for layer in layers),
        keras_version=checked.keras_version,
        sha256=checked.sha256,
        optimizer=optimizers_text(optimizers_of(model)) if len(optimizers_of(model)) > 1 else optimizer_text(training),
        loss=loss_text(training) or (OWN_LOSS if has_own_step(model) or model.losses else None),
        only_batch=written_batch(model) or 0,
        unknown_dims=unknown,
        warnings=(*checked.warnings, *_warnings(model, checked, inputs)),
    )


def _training(model: keras.Model, checked: CheckedModel) -> Any:
    """What the model is compiled with, as a file would have it; of a file, what it has."""
    if checked.compile_config or not model.compiled:
        return checked.compile_config
    try:
        return model.get_compile_config()
    except (TypeError, ValueError, NotImplementedError, AttributeError):  # a loss that can't be written down, say
        return {"loss": [loss_name(loss) for loss in keras.tree.flatten(model.loss)]} if model.loss else {}


def _input_shapes(made: Rebuilt) -> tuple[TensorShape, ...]:
    """What a model leaves open, its preprocessor or the data it is trained on may say."""
    tensors = inputs_of(made.model)
    slots = named_after_inputs(given_feed(made.data), made.model).slots if made.data is not None else ()
    if not tensors:
        return tuple(
            TensorShape(
                slot.name, tuple(BATCH if n is None else UNKNOWN if n < 0 else n for n in slot.shape), slot.dtype
            )
            for slot in slots
        )
    said = {slot.name: slot.shape[1:] for slot in slots if UNSAID not in slot.shape} or made.sizes
    return tuple(_input_shape(tensor, said.get(tensor.name, ())) for tensor in tensors)


@dataclass
class _Walk:
    """The walk over nested models. Layers and weights that are met again count once."""

    trainable: frozenset[int]
    seen_layers: set[int] = field(default_factory=set)
    seen_weights: set[int] = field(default_factory=set)

    def layers_of(self, model: keras.Model, prefix: str) -> Iterator[Layer]:
        calls = _calls(model)
        for layer in _parts(model):
            path = f"{prefix}{layer.name}"
            if id(layer) in self.seen_layers:
                continue
            self.seen_layers.add(id(layer))
            if isinstance(layer, keras.Model):
                yield from self.layers_of(layer, f"{path}/")
            else:
                yield self._layer(layer, path, calls.get(id(layer), []))
        own = [v for v in model.weights if id(v) not in self.seen_weights]
        if own:  # weights that a class of the user's keeps for itself
            yield self._counted(Layer(model.name, f"{prefix}{model.name}", type(model).__name__, (), "", 0, 0, 0), own)

    def _layer(self, layer: Any, path: str, outputs: list[list[Any]]) -> Layer:
        shapes = dict.fromkeys(_shape(tensor.shape) for call in outputs for tensor in call)
        row = Layer(
            name=layer.name,
            path=path,
            class_name=type(layer).__name__,
            output_shapes=tuple(shapes),
            dtype=_dtype(layer, outputs),
            trainable_params=0,
            frozen_params=0,
            weight_bytes=0,
            trainable=bool(getattr(layer, "trainable", True)),
            shared=len(outputs) > 1,
        )
        return self._counted(row, getattr(layer, "weights", []))

    def _counted(self, row: Layer, weights: Iterable[Any]) -> Layer:
        trainable, frozen, size_bytes = 0, 0, 0
        for weight in weights:
            if id(weight) in self.seen_weights:
                continue
            self.seen_weights.add(id(weight))
            count = prod(weight.shape)
            size_bytes += count * np.dtype(weight.dtype).itemsize
            if id(weight) in self.trainable:
                trainable += count
            else:
                frozen += count
        return replace(row, trainable_params=trainable, frozen_params=frozen, weight_bytes=size_bytes)


def _parts(model: keras.Model) -> list[Any]:
    """Layers and, in a graph, operations too: they have no weights, but they have outputs."""
    functional = _graph(model)
    return list(functional.operations) if functional is not None else list(model.layers)


def _graph(model: keras.Model) -> Any:
    if isinstance(model, keras.Sequential):
        return model._functional
    return model if hasattr(model, "_nodes_by_depth") and getattr(model, "inputs", None) else None


def _calls(model: keras.Model) -> dict[int, list[list[Any]]]:
    """The outputs of each layer's calls within this model: a shared layer has several."""
    graph = _graph(model)
    calls: dict[int, list[list[Any]]] = {}
    if graph is not None:
        for depth in sorted(graph._nodes_by_depth, reverse=True):
            for node in graph._nodes_by_depth[depth]:
                calls.setdefault(id(node.operation), []).append(list(node.output_tensors))
    return calls


def _named_once(layers: Iterable[Layer]) -> Iterator[Layer]:
    """Paths are what layers are told apart by, and two layers of a user's class may have one name."""
    taken: set[str] = set()
    for layer in layers:
        path, number = layer.path, 1
        while path in taken:
            number += 1
            path = f"{layer.path}#{number}"
        taken.add(path)
        yield layer if path == layer.path else replace(layer, path=path)


def _shape(shape: Iterable[int | None]) -> tuple[int | str, ...]:
    return tuple(n if n is not None else (BATCH if axis == 0 else UNKNOWN) for axis, n in enumerate(shape))


def _input_shape(tensor: Tensor, said: Sequence[int | None]) -> TensorShape:
    """Unknown sizes of an input are named after it and their axis: `tokens_1`."""
    sizes = said if len(said) == len(tensor.shape) - 1 else [None] * len(tensor.shape)
    known = (tensor.shape[0], *(n if n is not None else size for n, size in zip(tensor.shape[1:], sizes, strict=False)))
    shape = tuple(
        n if n is not None else (BATCH if axis == 0 else f"{tensor.name}_{axis}") for axis, n in enumerate(known)
    )
    return TensorShape(tensor.name, shape, tensor.dtype)


def _dtype(layer: Any, outputs: list[list[Any]]) -> str:
    policy = getattr(layer, "dtype_policy", None)
    if policy is not None and not isinstance(layer, keras.layers.InputLayer):
        return str(policy.name)
    return str(outputs[0][0].dtype) if outputs and outputs[0] else ""


def _warnings(model: keras.Model, checked: CheckedModel, inputs: tuple[TensorShape, ...]) -> Iterator[str]:
    difference = first_difference(model, checked)
    if difference:
        yield f"The weights in the file don't match its configuration: {difference}. The configuration is followed."
    for tensor in inputs:
        if tensor.dtype == "string":
            yield f"Input {tensor.name!r} takes text, which stays in the host's memory and is not counted on a GPU."
    batch = written_batch(model)
    if batch:
        yield f"The batch size is written into the model: {batch}. Only that one can be planned."
    if not inputs and not has_own_step(model):
        yield "The model does not say what it takes: its inputs' shapes must be given."
