"""Models put together in more ways: branches, shared layers, masks, several outputs, and whole applications."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers as L


def vgg() -> Any:
    inputs = x = keras.Input((64, 64, 3))
    for filters in (32, 64, 128):
        for _ in range(2):
            x = L.ReLU()(L.BatchNormalization()(L.Conv2D(filters, 3, padding="same")(x)))
        x = L.MaxPooling2D()(x)
    x = L.Dropout(0.5)(L.Dense(256, activation="relu")(L.Flatten()(x)))
    return keras.Model(inputs, L.Dense(10, activation="softmax")(x))


def resnet50() -> Any:
    return keras.applications.ResNet50(weights=None, input_shape=(96, 96, 3), classes=10)


def mobilenet() -> Any:
    return keras.applications.MobileNetV3Small(
        weights=None, input_shape=(96, 96, 3), classes=10, include_preprocessing=False
    )


def efficientnet() -> Any:
    return keras.applications.EfficientNetB0(weights=None, input_shape=(96, 96, 3), classes=10)


def densenet() -> Any:
    inputs = keras.Input((48, 48, 3))
    x = L.Conv2D(32, 3, padding="same")(inputs)
    for _ in range(2):
        for _ in range(4):
            y = L.Conv2D(16, 3, padding="same")(L.ReLU()(L.BatchNormalization()(x)))
            x = L.Concatenate()([x, y])
        x = L.AveragePooling2D(2)(L.Conv2D(48, 1)(x))
    return keras.Model(inputs, L.Dense(10)(L.GlobalAveragePooling2D()(x)))


def inception() -> Any:
    inputs = keras.Input((48, 48, 3))
    x = L.Conv2D(32, 3, strides=2, padding="same", activation="relu")(inputs)
    for _ in range(2):
        branches = [
            L.Conv2D(16, 1, activation="relu")(x),
            L.Conv2D(24, 3, padding="same", activation="relu")(L.Conv2D(16, 1, activation="relu")(x)),
            L.Conv2D(16, 5, padding="same", activation="relu")(L.Conv2D(8, 1, activation="relu")(x)),
            L.Conv2D(16, 1, activation="relu")(L.MaxPooling2D(3, strides=1, padding="same")(x)),
        ]
        x = L.Concatenate()(branches)
    return keras.Model(inputs, L.Dense(10)(L.Flatten()(L.AveragePooling2D(4)(x))))


def decoder() -> Any:
    """A language model: positions added to tokens, causal attention, normalised by RMS, gated feed-forward."""
    inputs = keras.Input((64,), dtype="int32")
    x = L.Embedding(3000, 96)(inputs)
    x = L.Add()([x, L.Embedding(64, 96)(keras.ops.cumsum(keras.ops.ones_like(inputs), axis=1) - 1)])
    for _ in range(2):
        a = L.RMSNormalization()(x)
        x = L.Add()([x, L.GroupQueryAttention(16, 6, 2)(a, a, use_causal_mask=True)])
        f = L.RMSNormalization()(x)
        gated = L.Multiply()([L.Dense(256, activation="silu")(f), L.Dense(256)(f)])
        x = L.Add()([x, L.Dense(96)(gated)])
    return keras.Model(inputs, L.Dense(3000, use_bias=False)(L.RMSNormalization()(x)))


def masked_lstm() -> Any:
    inputs = keras.Input((40,), dtype="int32")
    x = L.Embedding(4000, 48, mask_zero=True)(inputs)
    x = L.LSTM(64, return_sequences=True, dropout=0.2)(x)
    return keras.Model(inputs, L.Dense(8)(L.LSTM(64, recurrent_dropout=0.1)(x)))


def seq2seq() -> Any:
    source, target = keras.Input((30,), dtype="int32"), keras.Input((25,), dtype="int32")
    encoded, h, c = L.LSTM(64, return_sequences=True, return_state=True)(L.Embedding(3000, 64)(source))
    decoded = L.LSTM(64, return_sequences=True)(L.Embedding(2000, 64)(target), initial_state=[h, c])
    attended = L.Attention()([decoded, encoded])
    return keras.Model([source, target], L.Dense(2000)(L.Concatenate()([decoded, attended])))


def text_cnn() -> Any:
    inputs = keras.Input((120,), dtype="int32")
    x = L.SpatialDropout1D(0.2)(L.Embedding(8000, 64)(inputs))
    pooled = [L.GlobalMaxPooling1D()(L.Conv1D(64, width, activation="relu")(x)) for width in (3, 4, 5)]
    return keras.Model(inputs, L.Dense(6)(L.Dropout(0.5)(L.Concatenate()(pooled))))


def siamese() -> Any:
    tower = keras.Sequential(
        [
            keras.Input((64, 64, 1)),
            L.Conv2D(32, 5, activation="relu"),
            L.MaxPooling2D(),
            L.Conv2D(64, 3, activation="relu"),
            L.GlobalAveragePooling2D(),
            L.Dense(64),
            L.UnitNormalization(),
        ]
    )
    left, right = keras.Input((64, 64, 1)), keras.Input((64, 64, 1))
    return keras.Model([left, right], L.Dense(1)(L.Subtract()([tower(left), tower(right)])))


def variational() -> Any:
    inputs = x = keras.Input((32, 32, 3))
    for filters in (32, 64):
        x = L.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
    x = L.Flatten()(x)
    mean, spread = L.Dense(16)(x), L.Dense(16, activation="softplus")(x)
    x = L.Add()([mean, L.Multiply()([spread, L.GaussianNoise(1.0)(keras.ops.zeros_like(mean))])])
    x = L.Reshape((8, 8, 64))(L.Dense(8 * 8 * 64, activation="relu")(x))
    for filters in (32, 16):
        x = L.UpSampling2D(interpolation="bilinear")(x)
        x = L.PReLU(shared_axes=(1, 2))(L.Conv2D(filters, 3, padding="same")(x))
    return keras.Model(inputs, L.Conv2D(3, 3, padding="same", activation="sigmoid")(x))


def two_outputs() -> Any:
    inputs = keras.Input((64, 64, 3))
    x = L.Conv2D(32, 3, padding="same", activation="relu")(L.Rescaling(1 / 255)(inputs))
    x = L.LayerNormalization()(L.Conv2D(64, 3, strides=2, padding="same", activation="silu")(x))
    mask = L.Conv2DTranspose(1, 4, strides=2, padding="same", activation="sigmoid", name="mask")(x)
    kind = L.Dense(5, activation="softmax", name="kind")(L.GlobalMaxPooling2D()(x))
    return keras.Model(inputs, [mask, kind])


def frames() -> Any:
    """A small CNN on every frame of a film, then a recurrent layer over them."""
    inputs = keras.Input((6, 48, 48, 3))
    one = keras.Sequential(
        [keras.Input((48, 48, 3)), L.Conv2D(16, 3, activation="relu"), L.MaxPooling2D(3), L.Flatten(), L.Dense(32)]
    )
    return keras.Model(inputs, L.Dense(4)(L.Bidirectional(L.GRU(24))(L.TimeDistributed(one)(inputs))))


COMPOSED = {
    builder.__name__: builder
    for builder in (
        vgg,
        resnet50,
        mobilenet,
        efficientnet,
        densenet,
        inception,
        decoder,
        masked_lstm,
        seq2seq,
        text_cnn,
        siamese,
        variational,
        two_outputs,
        frames,
    )
}
