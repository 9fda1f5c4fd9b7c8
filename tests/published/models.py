"""The models of published figures, rebuilt with Keras 3.

    python tests/published/models.py FILE.keras MODEL SIDE

A BERT is built from Keras' own layers; SIDE is its number of tokens.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import keras
from keras import layers as L

BERTS = {"BertBase": (12, 768, 12), "BertLarge": (24, 1024, 16)}
WORDS = 30522


def bert(depth: int, width: int, heads: int, tokens: int) -> Any:
    inputs = keras.Input((tokens,), dtype="int32")
    x = L.Dropout(0.1)(L.LayerNormalization()(L.Embedding(WORDS, width)(inputs)))
    for _ in range(depth):
        attended = L.MultiHeadAttention(heads, width // heads, dropout=0.1)(x, x)
        x = L.LayerNormalization()(L.Add()([x, L.Dropout(0.1)(attended)]))
        inner = L.Dense(width)(L.Dense(4 * width, activation="gelu")(x))
        x = L.LayerNormalization()(L.Add()([x, L.Dropout(0.1)(inner)]))
    return keras.Model(inputs, L.Dense(2)(x))


def build(name: str, side: int) -> Any:
    if name in BERTS:
        return bert(*BERTS[name], side)
    return getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3))


if __name__ == "__main__":
    path, name, size = sys.argv[1:]
    Path(path).write_text(build(name, int(size)).to_json())
