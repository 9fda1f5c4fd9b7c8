"""Three small models, saved by the Keras that runs this: a residual network, a language model and a recurrent one.

python tests/versions/models.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import keras
from keras import layers as L


def residual() -> Any:
    inputs = keras.Input((64, 64, 3))
    x = L.Conv2D(16, 3, padding="same", activation="relu")(inputs)
    for filters in (32, 64):
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(filters, 3, strides=2, padding="same")(x)))
        y = L.BatchNormalization()(L.Conv2D(filters, 3, padding="same")(y))
        x = L.ReLU()(L.Add()([y, L.Conv2D(filters, 1, strides=2)(x)]))
    return keras.Model(inputs, L.Dense(10)(L.GlobalAveragePooling2D()(x)))


def language() -> Any:
    inputs = keras.Input((64,), dtype="int32")
    x = L.Embedding(2000, 128)(inputs)
    for _ in range(2):
        attended = L.LayerNormalization()(x)
        x = L.Add()([x, L.MultiHeadAttention(4, 32)(attended, attended, use_causal_mask=True)])
        inner = L.Dense(512, activation="gelu")(L.LayerNormalization()(x))
        x = L.Add()([x, L.Dropout(0.1)(L.Dense(128)(inner))])
    return keras.Model(inputs, L.Dense(2000)(x))


def recurrent() -> Any:
    inputs = keras.Input((24, 16))
    x = L.Bidirectional(L.LSTM(48, return_sequences=True))(inputs)
    return keras.Model(inputs, L.Dense(5)(L.GRU(48)(x)))


MODELS = {builder.__name__: builder for builder in (residual, language, recurrent)}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, builder in MODELS.items():
        keras.utils.clear_session()
        model = builder()
        model.compile(optimizer="adamw" if name == "language" else "adam", loss="mean_squared_error")
        model.save(folder / f"{name}.keras")
