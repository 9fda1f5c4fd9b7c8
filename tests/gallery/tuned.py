"""Fine-tuning: low-rank adapters, quantised weights, frozen parts."""

import keras
from keras import layers


def _tower():
    x = keras.Input((64,), dtype="int32", name="tokens")
    y = layers.Embedding(2000, 64)(x)
    for _ in range(2):
        y = layers.LayerNormalization()(y + layers.MultiHeadAttention(4, 16)(y, y))
        y = layers.LayerNormalization()(y + layers.Dense(64)(layers.Dense(256, activation="relu")(y)))
    return keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling1D()(y)))


def _compiled(model):
    model.compile(
        keras.optimizers.AdamW(1e-4, weight_decay=0.01),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def _adapted(model, rank=4):
    for layer in model._flatten_layers(include_self=False):
        if hasattr(layer, "enable_lora"):
            layer.trainable = True
            layer.enable_lora(rank)
        elif not isinstance(layer, keras.Model):
            layer.trainable = False
    return model


def low_rank():
    return _compiled(_adapted(_tower()))


def quantised(mode="int8"):
    model = _tower()
    model.quantize(mode)
    return model


def int8_low_rank():
    return _compiled(_adapted(quantised("int8")))


def int4_low_rank():
    return _compiled(_adapted(quantised("int4")))


def float8():
    return _compiled(quantised("float8"))


def frozen_base():
    base = keras.applications.MobileNetV2(input_shape=(96, 96, 3), include_top=False, weights="imagenet", alpha=0.35)
    base.trainable = False
    x = keras.Input((96, 96, 3))
    model = keras.Model(x, layers.Dense(4)(layers.GlobalAveragePooling2D()(base(x, training=False))))
    return _compiled(model)
