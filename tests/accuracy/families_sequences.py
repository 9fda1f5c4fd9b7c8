"""Families of models of text, sound, series and tables."""

from __future__ import annotations

from typing import Any

import keras
from family import BINARY, SPARSE, family, finished, positions
from keras import layers as L
from keras import ops

# Language models.


def _gpt(vocabulary: int, length: int, width: int, depth: int, dropout: float = 0.1) -> Any:
    inputs = keras.Input((length,), dtype="int32")
    x = L.Embedding(vocabulary, width)(inputs)
    x = L.Dropout(dropout)(x + positions(x))
    for _ in range(depth):
        y = L.LayerNormalization()(x)
        y = L.MultiHeadAttention(width // 32, 32, dropout=dropout)(y, y, use_causal_mask=True)
        x = x + L.Dropout(dropout)(y)
        y = L.Dense(4 * width, activation="gelu")(L.LayerNormalization()(x))
        x = x + L.Dropout(dropout)(L.Dense(width)(y))
    return finished(inputs, L.Dense(vocabulary, use_bias=False)(L.LayerNormalization()(x)), SPARSE)


@family("language")
def gpt_small_vocabulary() -> Any:
    return _gpt(512, 128, 128, 3)


@family("language")
def gpt_large_vocabulary() -> Any:
    return _gpt(16000, 64, 128, 2)


@family("language")
def gpt_plain() -> Any:
    return _gpt(4000, 96, 96, 2, dropout=0.0)


@family("language")
def llama() -> Any:
    inputs = keras.Input((96,), dtype="int32")
    x = L.Embedding(8000, 128)(inputs)
    for _ in range(3):
        y = L.RMSNormalization()(x)
        x = x + L.GroupQueryAttention(32, 4, 2, use_bias=False)(y, y, use_causal_mask=True)
        y = L.RMSNormalization()(x)
        gated = L.Dense(344, activation="silu", use_bias=False)(y) * L.Dense(344, use_bias=False)(y)
        x = x + L.Dense(128, use_bias=False)(gated)
    return finished(inputs, L.Dense(8000, use_bias=False)(L.RMSNormalization()(x)), SPARSE)


@family("language")
def tied() -> Any:
    """The embedding is the output's weight too."""
    inputs = keras.Input((64,), dtype="int32")
    embedding = L.ReversibleEmbedding(6000, 96)
    x = embedding(inputs)
    for _ in range(2):
        y = L.MultiHeadAttention(4, 24)(x, x, use_causal_mask=True)
        x = L.LayerNormalization()(x + y)
        x = L.LayerNormalization()(x + L.Dense(96)(L.Dense(384, activation="relu")(x)))
    return finished(inputs, embedding(x, reverse=True), SPARSE)


# Encoders of text.


def _encoded(x: Any, heads: int, dropout: float = 0.1) -> Any:
    width = x.shape[-1]
    y = L.Dropout(dropout)(L.MultiHeadAttention(heads, width // heads, dropout=dropout)(x, x))
    x = L.LayerNormalization()(x + y)
    y = L.Dense(width)(L.Dense(4 * width, activation="gelu")(x))
    return L.LayerNormalization()(x + L.Dropout(dropout)(y))


@family("encoders")
def bert_classifier() -> Any:
    inputs = keras.Input((128,), dtype="int32")
    x = L.Embedding(5000, 128)(inputs)
    x = L.LayerNormalization()(x + positions(x))
    for _ in range(3):
        x = _encoded(x, 4)
    return finished(inputs, L.Dense(2)(L.Dense(128, activation="tanh")(x[:, 0])), SPARSE)


@family("encoders")
def translation() -> Any:
    source, target = keras.Input((48,), dtype="int32"), keras.Input((48,), dtype="int32")
    x = L.Embedding(3000, 96)(source)
    for _ in range(2):
        x = _encoded(x, 4)
    y = L.Embedding(3000, 96)(target)
    for _ in range(2):
        y = L.LayerNormalization()(y + L.MultiHeadAttention(4, 24)(y, y, use_causal_mask=True))
        y = L.LayerNormalization()(y + L.MultiHeadAttention(4, 24)(y, x))
        y = L.LayerNormalization()(y + L.Dense(96)(L.Dense(384, activation="relu")(y)))
    return finished([source, target], L.Dense(3000)(y), SPARSE)


# Recurrent layers that are compiled: those that cuDNN does not have.


@family("recurrent")
def simple_recurrent() -> Any:
    inputs = keras.Input((32, 24))
    x = L.SimpleRNN(96, return_sequences=True)(inputs)
    return finished(inputs, L.Dense(10)(L.SimpleRNN(96)(x)), SPARSE)


@family("recurrent")
def convolutional_recurrent() -> Any:
    inputs = keras.Input((6, 32, 32, 3))
    x = L.ConvLSTM2D(16, 3, padding="same", return_sequences=True)(inputs)
    return finished(inputs, L.Conv2D(1, 3, padding="same")(L.ConvLSTM2D(16, 3, padding="same")(x)))


# Tables, pairs and points.


@family("tables")
def wide_and_deep() -> Any:
    numbers, kinds = keras.Input((40,)), keras.Input((12,), dtype="int32")
    x = L.Flatten()(L.Embedding(20000, 32)(kinds))
    x = L.Concatenate()([L.BatchNormalization()(numbers), x])
    for units in (512, 256, 128):
        x = L.Dropout(0.2)(L.BatchNormalization()(L.Dense(units, activation="relu")(x)))
    return finished([numbers, kinds], L.Dense(1, activation="sigmoid")(x), BINARY)


@family("tables")
def interactions() -> Any:
    kinds = keras.Input((26,), dtype="int32")
    x = L.Embedding(10000, 32)(kinds)
    for _ in range(2):
        x = x + L.MultiHeadAttention(2, 16)(x, x)
    pairs = ops.matmul(x, ops.transpose(x, (0, 2, 1)))
    x = L.Concatenate()([L.Flatten()(x), L.Flatten()(pairs)])
    return finished(kinds, L.Dense(1, activation="sigmoid")(L.Dense(256, activation="relu")(x)), BINARY)


@family("tables")
def points() -> Any:
    inputs = x = keras.Input((512, 3))
    for filters in (64, 128, 256):
        x = L.ReLU()(L.BatchNormalization()(L.Conv1D(filters, 1)(x)))
    x = L.Dropout(0.3)(L.Dense(128, activation="relu")(L.GlobalMaxPooling1D()(x)))
    return finished(inputs, L.Dense(40)(x), SPARSE)


@family("tables")
def self_normalising() -> Any:
    inputs = x = keras.Input((784,))
    for _ in range(6):
        x = L.AlphaDropout(0.05)(L.Dense(1024, activation="selu")(x))
    return finished(inputs, L.Dense(10)(x), SPARSE)


# Sound.


@family("sound")
def conformer() -> Any:
    inputs = keras.Input((128, 40))
    x = L.Dense(96)(inputs)
    for _ in range(2):
        x = x + 0.5 * L.Dense(96)(L.Dense(384, activation="swish")(L.LayerNormalization()(x)))
        y = L.LayerNormalization()(x)
        x = x + L.MultiHeadAttention(4, 24)(y, y)
        y = L.Conv1D(192, 1)(L.LayerNormalization()(x))
        y = y[..., :96] * ops.sigmoid(y[..., 96:])
        y = L.Activation("swish")(L.BatchNormalization()(L.DepthwiseConv1D(15, padding="same")(y)))
        x = x + L.Conv1D(96, 1)(y)
        x = x + 0.5 * L.Dense(96)(L.Dense(384, activation="swish")(L.LayerNormalization()(x)))
    return finished(inputs, L.Dense(64)(L.LayerNormalization()(x)), SPARSE)


@family("sound")
def keyword() -> Any:
    inputs = keras.Input((98, 40, 1))
    x = L.Conv2D(64, (10, 4), strides=(2, 2), padding="same", use_bias=False)(inputs)
    x = L.ReLU()(L.BatchNormalization()(x))
    for _ in range(4):
        x = L.ReLU()(L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same", use_bias=False)(x)))
        x = L.ReLU()(L.BatchNormalization()(L.Conv2D(64, 1, use_bias=False)(x)))
    return finished(inputs, L.Dense(12)(L.GlobalAveragePooling2D()(x)), SPARSE)


@family("sound")
def raw_wave() -> Any:
    inputs = x = keras.Input((4096, 1))
    for filters, size, strides in ((64, 80, 4), (64, 3, 1), (128, 3, 1), (256, 3, 1)):
        x = L.Conv1D(filters, size, strides=strides, padding="same")(x)
        x = L.MaxPooling1D(4)(L.ReLU()(L.BatchNormalization()(x)))
    return finished(inputs, L.Dense(35)(L.GlobalAveragePooling1D()(x)), SPARSE)
