"""The models of published figures, rebuilt with Keras 3.

    python tests/published/models.py FILE.json MODEL SIDE OPTIMIZER

SIDE is a BERT's number of tokens. Its dropout and attention are built as its programs had them (`then.py`), and so is
an optimizer that Keras has not; the others are left to whoever trains the model.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import keras
from keras import layers as L
from then import Attention, BertAdam, BertLamb, Gelu, MaskedDropout

# Layers, width, heads, and whether GELU is computed by tanh.
BERTS = {
    "BertBase": (12, 768, 12, False),
    "BertLarge": (24, 1024, 16, False),
    "BertLargeNvidia": (24, 1024, 16, True),
}
WORDS = 30522
DROPPED = 0.1
THEN = {"bert_adam": BertAdam, "bert_lamb": BertLamb}
CLIPPED = 1.0


def bert(depth: int, width: int, heads: int, by_tanh: bool, tokens: int) -> Any:
    inputs = keras.Input((tokens,), dtype="int32")
    x = MaskedDropout(DROPPED)(L.LayerNormalization()(L.Embedding(WORDS, width)(inputs)))
    for _ in range(depth):
        attended = Attention(heads, DROPPED)(x)
        x = L.LayerNormalization()(L.Add()([x, MaskedDropout(DROPPED)(attended)]))
        inner = L.Dense(width)(Gelu(by_tanh)(L.Dense(4 * width)(x)))
        x = L.LayerNormalization()(L.Add()([x, MaskedDropout(DROPPED)(inner)]))
    return keras.Model(inputs, L.Dense(2)(x))


def build(name: str, side: int) -> Any:
    if name in BERTS:
        return bert(*BERTS[name], side)
    return getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3))


if __name__ == "__main__":
    path, name, size, optimizer = sys.argv[1:]
    model = build(name, int(size))
    if optimizer in THEN:
        model.compile(optimizer=THEN[optimizer](global_clipnorm=CLIPPED), loss="mse")
    Path(path).write_text(model.to_json())
