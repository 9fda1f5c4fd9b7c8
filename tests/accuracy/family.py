"""A family of models: builders under one name, each with a loss of its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import layers as L
from keras import ops

Builder = Callable[[], Any]

SPARSE = "sparse_categorical_crossentropy"
BINARY = "binary_crossentropy"
FAMILIES: dict[str, dict[str, Builder]] = {}


def family(name: str) -> Callable[[Builder], Builder]:
    def enter(build: Builder) -> Builder:
        FAMILIES.setdefault(name, {})[build.__name__] = build
        return build

    return enter


def finished(inputs: Any, outputs: Any, loss: str = "mse") -> Any:
    model = keras.Model(inputs, outputs)
    if loss == SPARSE:
        model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    else:
        model.compile(loss=loss)
    return model


def positions(x: Any) -> Any:
    return L.Embedding(x.shape[1], x.shape[2])(ops.arange(x.shape[1]))
