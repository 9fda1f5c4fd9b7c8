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


def symbolic_inputs(model: keras.Model) -> Any:
    """Keras tensors of the shapes the model was built with, in the structure its `call` expects."""
    if getattr(model, "inputs", None):
        return model.inputs if len(model.inputs) > 1 else model.inputs[0]
    tensors = {t.name: keras.KerasTensor(t.shape, dtype=t.dtype) for t in inputs_of(model)}
    return next(iter(tensors.values())) if len(tensors) == 1 else tensors


def _symbolic_outputs(model: keras.Model) -> list[Any]:
    given = symbolic_inputs(model)
    if isinstance(given, dict) and not given:
        return []
    return list(keras.tree.flatten(model.compute_output_spec(given)))


def _build_shapes(model: keras.Model) -> dict[str, tuple[int | None, ...]]:
    """A model of the user's class remembers the shapes its `build` was given: one, or one for each argument."""
    shapes = model._build_shapes_dict or {}
    if len(shapes) == 1:
        only = next(iter(shapes.values()))
        if isinstance(only, Mapping):
            return {str(name): tuple(shape) for name, shape in only.items()}
        if only and isinstance(only[0], (list, tuple)):
            return {f"input_{n}": tuple(shape) for n, shape in enumerate(only)}
        return {"input": tuple(only)} if only else {}
    return {str(name).removesuffix("_shape"): tuple(shape) for name, shape in shapes.items() if shape}


def _producer(tensor: Any) -> str:
    history = getattr(tensor, "_keras_history", None)
    return str(history.operation.name if history else tensor.name)


def _tensor(tensor: Any, name: str) -> Tensor:
    return Tensor(str(name), tuple(tensor.shape), str(tensor.dtype))
