"""Fine-tuning as a question about any model: weights in fewer bits, and low-rank adapters instead of the weights."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import keras

from planner_app.core.model.setup import QUANTIZATIONS, parse_lora
from planner_app.errors import SetupError
from planner_app.worker.build.said import line

ATTENTION = ("*query*", "*value*")  # what is adapted of a transformer where nobody says: as KerasHub and others do it


def fine_tune(model: keras.Model, lora: str, quantize: str) -> None:
    """Quantised first: adapters are added to the weights as they are then."""
    if quantize:
        _quantize(model, quantize)
    if lora:
        rank, pattern = parse_lora(lora)
        _adapt(model, rank, pattern)


def _quantize(model: keras.Model, mode: str) -> None:
    if mode not in QUANTIZATIONS:
        raise SetupError(f'"{mode}" is not a way to quantise: expected one of {", ".join(QUANTIZATIONS)}.')
    try:
        model.quantize(mode)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise SetupError(f"Keras can't quantise this model to {mode}: {line(error)}") from error


def _adapt(model: keras.Model, rank: int, pattern: str) -> None:
    able = [layer for layer in model._flatten_layers(include_self=False) if _can(layer)]
    chosen = [layer for layer in able if _matches(layer, pattern)] if pattern else _usual(able)
    if not chosen:
        raise SetupError(
            f'No layer that LoRA knows is called "{pattern}": Dense, EinsumDense and Embedding can be adapted, and '
            "`plimsoll describe` lists the layers of this model."
            if pattern
            else "The model has no layer that LoRA knows: Dense, EinsumDense and Embedding can be adapted."
        )
    for layer in model._flatten_layers(include_self=False):
        layer.trainable = False
    for layer in chosen:
        layer.trainable = True
        try:
            if not layer.lora_enabled:
                layer.enable_lora(rank)
        except (ValueError, TypeError) as error:
            raise SetupError(f'Layer "{layer.name}" can\'t be adapted: {line(error)}') from error


def _can(layer: Any) -> bool:
    return hasattr(layer, "enable_lora") and not isinstance(layer, keras.Model) and hasattr(layer, "lora_enabled")


def _usual(able: list[Any]) -> list[Any]:
    attention = [layer for layer in able if any(fnmatchcase(layer.name, each) for each in ATTENTION)]
    return attention or [layer for layer in able if not isinstance(layer, keras.layers.Embedding)]


def _matches(layer: Any, pattern: str) -> bool:
    return fnmatchcase(layer.name, pattern) or fnmatchcase(str(getattr(layer, "path", "") or ""), pattern)
