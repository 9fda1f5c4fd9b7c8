"""Small models of every kind that people train, to hold the estimate against what really happens.

    python tests/accuracy/zoo.py FOLDER [NAME ...]

writes them as `.keras` files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras
from keras import layers as L
from zoo_composed import COMPOSED
from zoo_recent import RECENT


def _plain_cnn() -> Any:
    return keras.Sequential(
        [
            keras.Input((96, 96, 3)),
            L.Conv2D(32, 3, activation="relu"),
            L.MaxPooling2D(),
            L.Conv2D(64, 3, activation="relu"),
            L.Conv2D(64, 3, strides=2, padding="same", activation="relu"),
            L.Dropout(0.25),
            L.Flatten(),
            L.Dense(128, activation="relu"),
            L.Dense(10, activation="softmax"),
        ]
    )


def _residual() -> Any:
    inputs = keras.Input((64, 64, 3))
    x = L.Conv2D(32, 3, padding="same", use_bias=False)(inputs)
    for filters, stride in ((32, 1), (64, 2), (128, 2)):
        skip = L.Conv2D(filters, 1, strides=stride, use_bias=False)(x)
        y = L.ReLU()(L.BatchNormalization()(x))
        y = L.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(y)
        y = L.ReLU()(L.BatchNormalization()(y))
        x = L.Add()([L.Conv2D(filters, 3, padding="same", use_bias=False)(y), skip])
    return keras.Model(inputs, L.Dense(10)(L.GlobalAveragePooling2D()(x)))


def _depthwise() -> Any:
    inputs = keras.Input((96, 96, 3))
    x = L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(inputs)
    for filters in (24, 48):
        y = L.Conv2D(filters * 4, 1, use_bias=False)(x)
        y = L.ReLU(6.0)(L.BatchNormalization()(y))
        y = L.DepthwiseConv2D(3, padding="same", use_bias=False)(y)
        y = L.ReLU(6.0)(L.BatchNormalization()(y))
        gate = L.Dense(filters * 4, activation="sigmoid")(L.GlobalAveragePooling2D(keepdims=True)(y))
        x = L.BatchNormalization()(L.Conv2D(filters, 1, use_bias=False)(L.Multiply()([y, gate])))
    x = L.SeparableConv2D(64, 3, activation="swish")(x)
    return keras.Model(inputs, L.Dense(10)(L.GlobalMaxPooling2D()(x)))


def _unet() -> Any:
    inputs = keras.Input((96, 96, 1))
    x, skips = inputs, []
    for filters in (16, 32):
        x = L.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = L.BatchNormalization()(x)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = L.Conv2D(64, 3, padding="same", activation="relu")(x)
    for filters, skip in zip((32, 16), reversed(skips), strict=True):
        x = L.Concatenate()([L.UpSampling2D()(x), skip])
        x = L.Conv2D(filters, 3, padding="same", activation="relu")(x)
    return keras.Model(inputs, L.Conv2D(1, 1, activation="sigmoid")(x))


def _convnext() -> Any:
    inputs = keras.Input((64, 64, 3))
    x = L.LayerNormalization(epsilon=1e-6)(L.Conv2D(48, 4, strides=4)(inputs))
    for _ in range(3):
        y = L.LayerNormalization(epsilon=1e-6)(L.DepthwiseConv2D(7, padding="same")(x))
        y = L.Dense(48)(L.Dense(192, activation="gelu")(y))
        x = L.Add()([x, y])
    return keras.Model(inputs, L.Dense(10)(L.LayerNormalization()(L.GlobalAveragePooling2D()(x))))


def _attention_block(x: Any, width: int, heads: int, dropout: float = 0.0) -> Any:
    a = L.LayerNormalization()(x)
    x = L.Add()([x, L.MultiHeadAttention(heads, width // heads, dropout=dropout)(a, a)])
    f = L.Dense(4 * width, activation="gelu")(L.LayerNormalization()(x))
    return L.Add()([x, L.Dropout(dropout)(L.Dense(width)(f))])


def _vit() -> Any:
    inputs = keras.Input((64, 64, 3))
    x = L.Reshape((64, 96))(L.Conv2D(96, 8, strides=8)(inputs))
    for _ in range(3):
        x = _attention_block(x, 96, 3)
    return keras.Model(inputs, L.Dense(10)(L.GlobalAveragePooling1D()(L.LayerNormalization()(x))))


def _transformer() -> Any:
    inputs = keras.Input((96,), dtype="int32")
    x = L.Embedding(4000, 128)(inputs)
    for _ in range(3):
        x = _attention_block(x, 128, 4, dropout=0.1)
    return keras.Model(inputs, L.Dense(4000)(x))


def _lstm() -> Any:
    inputs = keras.Input((60,), dtype="int32")
    x = L.Embedding(5000, 64)(inputs)
    x = L.Bidirectional(L.LSTM(48, return_sequences=True))(x)
    return keras.Model(inputs, L.Dense(5)(L.LSTM(32)(x)))


def _gru() -> Any:
    return keras.Sequential([keras.Input((50, 32)), L.GRU(64, return_sequences=True), L.GRU(64), L.Dense(1)])


def _convlstm() -> Any:
    inputs = keras.Input((8, 32, 32, 3))
    return keras.Model(inputs, L.Conv2D(1, 3, padding="same")(L.ConvLSTM2D(16, 3, padding="same")(inputs)))


def _conv3d() -> Any:
    return keras.Sequential(
        [
            keras.Input((16, 32, 32, 2)),
            L.Conv3D(16, 3, padding="same", activation="relu"),
            L.MaxPooling3D(),
            L.Conv3D(32, 3, padding="same", activation="relu"),
            L.BatchNormalization(),
            L.GlobalAveragePooling3D(),
            L.Dense(4),
        ]
    )


def _two_towers() -> Any:
    user, item = keras.Input((1,), dtype="int32", name="user"), keras.Input((12,), dtype="int32", name="item")
    left = L.Dense(64, activation="relu")(L.Flatten()(L.Embedding(20000, 64)(user)))
    right = L.Dense(64, activation="relu")(L.GlobalAveragePooling1D()(L.Embedding(30000, 64)(item)))
    return keras.Model([user, item], L.Dot(axes=1)([left, right]))


def _autoencoder() -> Any:
    inputs = keras.Input((64, 64, 3))
    x = inputs
    for filters in (16, 32, 64):
        x = L.LeakyReLU()(L.Conv2D(filters, 3, strides=2, padding="same")(x))
    for filters in (32, 16):
        x = L.Conv2DTranspose(filters, 3, strides=2, padding="same", activation="elu")(x)
    return keras.Model(inputs, L.Conv2DTranspose(3, 3, strides=2, padding="same")(x))


def _frozen() -> Any:
    backbone = keras.applications.MobileNetV2(input_shape=(96, 96, 3), weights=None, include_top=False, alpha=0.5)
    backbone.trainable = False
    inputs = keras.Input((96, 96, 3))
    return keras.Model(inputs, L.Dense(5)(L.GlobalAveragePooling2D()(backbone(inputs))))


def _mlp() -> Any:
    return keras.Sequential(
        [keras.Input((256,)), *(L.Dense(1024, activation="tanh") for _ in range(3)), L.Dense(16, activation="softmax")]
    )


def _conv1d() -> Any:
    return keras.Sequential(
        [
            keras.Input((512, 8)),
            L.Conv1D(64, 5, padding="causal", activation="relu"),
            L.MaxPooling1D(2),
            L.Conv1D(64, 5, dilation_rate=2, activation="relu"),
            L.GroupNormalization(8),
            L.AveragePooling1D(2),
            L.GlobalMaxPooling1D(),
            L.Dense(3),
        ]
    )


ZOO: dict[str, Callable[[], Any]] = {
    "plain_cnn": _plain_cnn,
    "residual": _residual,
    "depthwise": _depthwise,
    "unet": _unet,
    "convnext": _convnext,
    "vit": _vit,
    "transformer": _transformer,
    "lstm": _lstm,
    "gru": _gru,
    "convlstm": _convlstm,
    "conv3d": _conv3d,
    "two_towers": _two_towers,
    "autoencoder": _autoencoder,
    "frozen": _frozen,
    "mlp": _mlp,
    "conv1d": _conv1d,
    **COMPOSED,
    **RECENT,
}


def save(folder: Path, names: Iterable[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        keras.utils.clear_session()  # layers are numbered from one in every file, whatever else is saved
        keras.utils.set_random_seed(0)
        ZOO[name]().save(folder / f"{name}.keras")


if __name__ == "__main__":
    save(Path(sys.argv[1]), sys.argv[2:] or ZOO)
