"""What a rebuilt model takes and gives, whether it was made of a graph of layers or is a class of the user's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import keras


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output. `shape` starts with the batch dimension; unknown dimensions are None."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str


def inputs_of(model: keras.Model) -> tuple[Tensor, ...]:
    """In the order the model takes them. Named after their input layers: the names that a setup's sizes use."""
    tensors = getattr(model, "inputs", None)
    if tensors:
        return tuple(_tensor(t, _producer(t)) for t in tensors)
    return tuple(
        Tensor(name, shape, keras.backend.standardize_dtype(model.compute_dtype))
        for name, shape in _build_shapes(model).items()
    )


def outputs_of(model: keras.Model) -> tuple[Tensor, ...]:
    """Named after the layers that give them; those of a user's class are numbered."""
    tensors = getattr(model, "outputs", None)
    if tensors:
        return tuple(_tensor(t, _producer(t)) for t in tensors)
    return tuple(_tensor(t, f"output_{n}") for n, t in enumerate(_symbolic_outputs(model)))


def input_structure(model: keras.Model) -> Any:
    """Places for the model's inputs, nested as it takes them, in the order of `inputs_of` when flattened."""
    graph = _graph(model)
    if graph is not None:
        structure = graph._inputs_struct
        only = isinstance(structure, (list, tuple)) and len(structure) == 1
        return keras.tree.map_structure(lambda _: 0, structure[0] if only else structure)
    shapes = _given_shapes(model)
    if isinstance(shapes, Mapping):
        return dict.fromkeys(map(str, sorted(shapes)), 0)
    return [0] * len(shapes) if isinstance(shapes, list) else 0


def output_structure(model: keras.Model) -> Any:
    """The model's outputs as Keras tensors, nested as it gives them."""
    graph = _graph(model)
    if graph is not None:
        return graph._outputs_struct
    return model.compute_output_spec(symbolic_inputs(model)) if inputs_of(model) else []


def symbolic_inputs(model: keras.Model) -> Any:
    """Keras tensors of the shapes the model was built with, in the structure its `call` expects."""
    tensors = [keras.KerasTensor(t.shape, dtype=t.dtype) for t in inputs_of(model)]
    return keras.tree.pack_sequence_as(input_structure(model), tensors)


def _graph(model: keras.Model) -> Any:
    if isinstance(model, keras.Sequential):
        return model._functional
    return model if getattr(model, "inputs", None) and hasattr(model, "_inputs_struct") else None


def _symbolic_outputs(model: keras.Model) -> list[Any]:
    return list(keras.tree.flatten(output_structure(model)))


def _given_shapes(model: keras.Model) -> Any:
    """A model of the user's class remembers the shapes its `build` was given: one, or one for each argument."""
    shapes = model._build_shapes_dict or {}
    if len(shapes) == 1:
        only = next(iter(shapes.values()))
        if isinstance(only, Mapping):
            return dict(only)
        if only and isinstance(only[0], (list, tuple)):
            return [tuple(shape) for shape in only]
        return tuple(only) if only else []
    return {str(name).removesuffix("_shape"): tuple(shape) for name, shape in shapes.items() if shape} or []


def _build_shapes(model: keras.Model) -> dict[str, tuple[int | None, ...]]:
    shapes = _given_shapes(model)
    if isinstance(shapes, Mapping):
        return {str(name): tuple(shapes[name]) for name in sorted(shapes)}
    if isinstance(shapes, list):
        return {f"input_{n}": shape for n, shape in enumerate(shapes)}
    return {"input": shapes}


def _producer(tensor: Any) -> str:
    history = getattr(tensor, "_keras_history", None)
    return str(history.operation.name if history else tensor.name)


def _tensor(tensor: Any, name: str) -> Tensor:
    return Tensor(str(name), tuple(tensor.shape), str(tensor.dtype))
