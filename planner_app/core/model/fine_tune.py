"""Fine-tuning of any Keras model: weights in fewer bits, and low-rank adapters instead of the weights.

The worker that estimates and the script that trains do the same here. They bring the model: nothing imports Keras.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from planner_app.core.model.setup import QUANTIZATIONS, parse_lora
from planner_app.errors import SetupError
from planner_app.foreign_text import for_line

ADAPTABLE = "Dense, EinsumDense, Embedding and convolutions"
ATTENTION = ("*query*", "*value*")  # what is adapted of a transformer where nobody says: as KerasHub and others do it


@dataclass(frozen=True, slots=True)
class LayerState:
    """What of a layer with weights is trained; `lora_rank` is 0 where it has no adapter."""

    class_name: str
    trainable: bool
    lora_rank: int


def layer_states(model: Any) -> tuple[LayerState, ...]:
    """Of every layer with weights, outer ones first. Configurations of whole models leave out what became of layers."""
    return tuple(
        LayerState(type(layer).__name__, bool(layer.trainable), layer.lora_rank if _adapted(layer) else 0)
        for layer in _weighted(model)
    )


def restore_layers(model: Any, states: tuple[LayerState, ...]) -> bool:
    """Freezes and adapts a model's layers as they were in another one of the same layers. Whether they are the same."""
    if not states or layer_states(model) == states:
        return True
    layers = _weighted(model)
    if [type(layer).__name__ for layer in layers] != [state.class_name for state in states]:
        return False
    for layer, state in zip(layers, states, strict=True):
        layer.trainable = state.trainable
    for layer, state in zip(layers, states, strict=True):  # behind all: an adapter freezes the weights it stands for
        if state.lora_rank and not _adapted(layer):
            layer.enable_lora(state.lora_rank)
    return True


def _weighted(model: Any) -> list[Any]:
    return [layer for layer in model._flatten_layers() if layer.weights]


def _adapted(layer: Any) -> bool:
    return _can(layer) and bool(layer.lora_enabled)


def fine_tune(model: Any, lora: str, quantize: str) -> None:
    """Quantised first: adapters are added to the weights as they are then."""
    if quantize:
        _quantize(model, quantize)
    if lora:
        rank, pattern = parse_lora(lora)
        _adapt(model, rank, pattern)


def _quantize(model: Any, mode: str) -> None:
    if mode not in QUANTIZATIONS:
        raise SetupError(f'"{mode}" is not a way to quantise: expected one of {", ".join(QUANTIZATIONS)}.')
    try:
        model.quantize(mode)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise SetupError(f"Keras can't quantise this model to {mode}: {_line(error)}") from error


def _adapt(model: Any, rank: int, pattern: str) -> None:
    able = [layer for layer in model._flatten_layers(include_self=False) if _can(layer)]
    chosen = [layer for layer in able if _matches(layer, pattern)] if pattern else _usual(able)
    if not chosen:
        raise SetupError(
            f'No layer that LoRA knows is called "{pattern}": {ADAPTABLE} can be adapted, and '
            "`plimsoll describe` lists the layers of this model."
            if pattern
            else f"The model has no layer that LoRA knows: {ADAPTABLE} can be adapted."
        )
    for layer in model._flatten_layers(include_self=False):
        layer.trainable = False
    for layer in chosen:
        layer.trainable = True
        try:
            if not _adapted(layer):
                layer.enable_lora(rank)
        except (ValueError, TypeError) as error:
            raise SetupError(f'Layer "{layer.name}" can\'t be adapted: {_line(error)}') from error


def _can(layer: Any) -> bool:
    """Whole models of KerasHub have `enable_lora` too, but nothing that says whether they are adapted."""
    return hasattr(layer, "enable_lora") and hasattr(layer, "lora_enabled")


def _usual(able: list[Any]) -> list[Any]:
    attention = [layer for layer in able if any(fnmatchcase(layer.name, each) for each in ATTENTION)]
    return attention or [layer for layer in able if not _is_embedding(layer)]


def _is_embedding(layer: Any) -> bool:
    return any(kind.__name__ == "Embedding" for kind in type(layer).__mro__)


def _matches(layer: Any, pattern: str) -> bool:
    return fnmatchcase(layer.name, pattern) or fnmatchcase(str(getattr(layer, "path", "") or ""), pattern)


def _line(error: Exception) -> str:
    return for_line((str(error).strip().splitlines() or [type(error).__name__])[0])
