"""Models of kinds that were estimated worst: grouped and dilated convolutions, volumes, diffusion, language models."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers as L


def grouped() -> Any:
    """ResNeXt's block: Keras has XLA compile every convolution in groups by itself."""
    inputs = keras.Input((64, 64, 3))
    x = L.Conv2D(64, 7, strides=2, padding="same", use_bias=False)(inputs)
    x = L.MaxPooling2D(3, 2, padding="same")(L.ReLU()(L.BatchNormalization()(x)))
    for filters, stride in ((128, 1), (256, 2)):
        y = L.ReLU()(L.BatchNormalization()(L.Conv2D(filters, 1, use_bias=False)(x)))
        y = L.Conv2D(filters, 3, strides=stride, padding="same", groups=32, use_bias=False)(y)
        y = L.Conv2D(2 * filters, 1, use_bias=False)(L.ReLU()(L.BatchNormalization()(y)))
        x = L.ReLU()(L.Add()([y, L.Conv2D(2 * filters, 1, strides=stride, use_bias=False)(x)]))
    return keras.Model(inputs, L.Dense(10)(L.GlobalAveragePooling2D()(x)))


def volumes() -> Any:
    inputs = keras.Input((16, 56, 56, 3))
    x = L.MaxPooling3D((1, 2, 2))(L.Conv3D(32, 3, padding="same", activation="relu")(inputs))
    x = L.Conv3D(64, 3, padding="same", activation="relu")(x)
    x = L.Conv3DTranspose(32, 2, strides=(1, 2, 2))(x)
    return keras.Model(inputs, L.Conv3D(3, 1)(x))


def dilated() -> Any:
    inputs = keras.Input((512, 16))
    x = L.Conv1D(48, 1)(inputs)
    for rate in (1, 2, 4, 8, 16):
        y = L.Conv1D(48, 3, dilation_rate=rate, padding="causal")(x)
        y = L.Dropout(0.1)(L.ReLU()(L.LayerNormalization()(y)))
        x = L.Add()([x, L.Conv1D(48, 3, dilation_rate=rate, padding="causal", activation="relu")(y)])
    return keras.Model(inputs, L.Dense(4)(x))


def grouped_query() -> Any:
    inputs = keras.Input((128,), dtype="int32")
    x = L.Embedding(6000, 192)(inputs)
    for _ in range(2):
        a = L.RMSNormalization()(x)
        x = L.Add()([x, L.GroupQueryAttention(32, 6, 2)(a, a, use_causal_mask=True)])
        f = L.RMSNormalization()(x)
        gate = L.Multiply()([L.Dense(512, activation="silu")(f), L.Dense(512)(f)])
        x = L.Add()([x, L.Dense(192)(gate)])
    return keras.Model(inputs, L.Dense(6000, use_bias=False)(x))


def diffusion() -> Any:
    image, time = keras.Input((64, 64, 3)), keras.Input((64,))
    spread = L.UpSampling2D(64)(L.Reshape((1, 1, 64))(time))
    x, skips = L.Concatenate()([L.Conv2D(32, 1)(image), spread]), []
    for filters in (32, 64, 96):
        x = _block(x, filters)
        skips.append(x)
        x = L.AveragePooling2D(2)(x)
    x = _block(x, 128)
    for filters in (96, 64, 32):
        x = L.Concatenate()([L.UpSampling2D(2, interpolation="bilinear")(x), skips.pop()])
        x = _block(x, filters)
    return keras.Model([image, time], L.Conv2D(3, 1)(x))


def _block(x: Any, filters: int) -> Any:
    skip = L.Conv2D(filters, 1)(x)
    y = L.BatchNormalization(center=False, scale=False)(x)
    y = L.Conv2D(filters, 3, padding="same", activation="swish")(y)
    return L.Add()([skip, L.Conv2D(filters, 3, padding="same")(y)])


RECENT = {builder.__name__: builder for builder in (grouped, volumes, dilated, grouped_query, diffusion)}
