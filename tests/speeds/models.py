"""The models whose training speed others have published, as they were run then: TensorFlow 1 and Keras 2 normalise
batches in one fused kernel, Keras 3 in a chain of them. Compiled by XLA both become the same, so there Keras 3's own
layer is used."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import applications, layers


class FusedBatchNormalization(layers.BatchNormalization):
    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        gamma = tf.cast(self.gamma, "float32") if self.scale else tf.ones([inputs.shape[-1]])
        beta = tf.cast(self.beta, "float32")
        # The newest form also puts out what cuDNN reserves, whose size is known only as it runs.
        made, mean, variance, *_ = tf.raw_ops.FusedBatchNormV2(
            x=inputs, scale=gamma, offset=beta, mean=[], variance=[], epsilon=self.epsilon
        )
        for moving, now in ((self.moving_mean, mean), (self.moving_variance, variance)):
            moving.assign(moving * self.momentum + now * (1 - self.momentum))
        return made


def _fused(model: Any) -> Any:
    def copied(layer: Any) -> Any:
        kind = FusedBatchNormalization if isinstance(layer, layers.BatchNormalization) else type(layer)
        return kind.from_config(layer.get_config())

    return keras.models.clone_model(model, clone_function=copied)


def _bert(depth: int, width: int, heads: int, tokens: int, words: int = 30522) -> Any:
    inputs = keras.Input((tokens,), dtype="int32")
    x = layers.Dropout(0.1)(layers.LayerNormalization()(layers.Embedding(words, width)(inputs)))
    for _ in range(depth):
        attended = layers.MultiHeadAttention(heads, width // heads, dropout=0.1)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(attended)]))
        inner = layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(inner)]))
    return keras.Model(inputs, layers.Dense(2)(x))


def resnet50() -> Any:
    return applications.ResNet50(weights=None)


def resnet50_fused() -> Any:
    return _fused(resnet50())


def resnet152() -> Any:
    return applications.ResNet152(weights=None)


def resnet152_fused() -> Any:
    return _fused(resnet152())


def inception3() -> Any:
    return applications.InceptionV3(weights=None)


def inception3_fused() -> Any:
    return _fused(inception3())


def vgg16() -> Any:
    return applications.VGG16(weights=None)


def efficientnet_b0() -> Any:
    return applications.EfficientNetB0(weights=None)


def efficientnet_b4() -> Any:
    return applications.EfficientNetB4(weights=None)


def bert_base_384() -> Any:
    return _bert(12, 768, 12, 384)


def bert_large_128() -> Any:
    return _bert(24, 1024, 16, 128)


def bert_large_384() -> Any:
    return _bert(24, 1024, 16, 384)


def bert_large_512() -> Any:
    return _bert(24, 1024, 16, 512)


def bert_base_512() -> Any:
    return _bert(12, 768, 12, 512)


def unet_medical() -> Any:
    def twice(x: Any, width: int) -> Any:
        for _ in range(2):
            x = layers.Conv2D(width, 3, activation="relu")(x)
        return x

    inputs = keras.Input((572, 572, 1))
    kept, x = [], inputs
    for width in (64, 128, 256, 512):
        x = twice(x, width)
        kept.append(x)
        x = layers.MaxPooling2D()(x)
    x = twice(x, 1024)
    for width in (512, 256, 128, 64):
        x = layers.Conv2DTranspose(width, 2, strides=2)(x)
        before = kept.pop()
        margin = (before.shape[1] - x.shape[1]) // 2
        x = twice(layers.Concatenate()([layers.Cropping2D(margin)(before), x]), width)
    return keras.Model(inputs, layers.Conv2D(2, 1)(x))
