"""Families of models of images, videos and waves."""

from __future__ import annotations

from typing import Any

import keras
from family import BINARY, FAMILIES, SPARSE, Builder, family, finished, positions
from keras import layers as L
from keras import ops

# Grouped convolutions.


def _resnext(width: int, groups: int, image: int) -> Any:
    inputs = keras.Input((image, image, 3))
    x = L.ReLU()(L.BatchNormalization()(L.Conv2D(width, 3, padding="same", use_bias=False)(inputs)))
    for stage in range(3):
        filters = width * 2**stage
        for block in range(2):
            strides = 2 if block == 0 and stage else 1
            y = L.ReLU()(L.BatchNormalization()(L.Conv2D(filters, 1, use_bias=False)(x)))
            y = L.Conv2D(filters, 3, strides=strides, padding="same", groups=groups, use_bias=False)(y)
            y = L.ReLU()(L.BatchNormalization()(y))
            y = L.BatchNormalization()(L.Conv2D(2 * filters, 1, use_bias=False)(y))
            if block == 0:
                x = L.BatchNormalization()(L.Conv2D(2 * filters, 1, strides=strides, use_bias=False)(x))
            x = L.ReLU()(L.Add()([x, y]))
    return finished(inputs, L.Dense(10)(L.GlobalAveragePooling2D()(x)), SPARSE)


@family("grouped")
def resnext_32() -> Any:
    return _resnext(32, 8, 48)


@family("grouped")
def resnext_64() -> Any:
    return _resnext(64, 32, 32)


@family("grouped")
def shuffled() -> Any:
    """Channels are shuffled between grouped convolutions."""
    inputs = keras.Input((64, 64, 3))
    x = L.Conv2D(48, 3, strides=2, padding="same", activation="relu")(inputs)
    for filters in (48, 96, 192):
        for _ in range(2):
            y = L.ReLU()(L.BatchNormalization()(L.Conv2D(filters, 1, groups=3)(x)))
            height, width = y.shape[1:3]
            y = L.Reshape((height, width, 3, filters // 3))(y)
            y = L.Reshape((height, width, filters))(L.Permute((1, 2, 4, 3))(y))
            y = L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same")(y))
            y = L.BatchNormalization()(L.Conv2D(filters, 1, groups=3)(y))
            x = L.ReLU()(L.Add()([x, y]) if x.shape[-1] == filters else y)
        x = L.AveragePooling2D(2)(x)
    return finished(inputs, L.Dense(100)(L.GlobalAveragePooling2D()(x)), SPARSE)


# Convolutions in three dimensions.


@family("volumes")
def video_2_plus_1() -> Any:
    inputs = keras.Input((8, 48, 48, 3))
    x = inputs
    for filters in (24, 48, 96):
        x = L.Conv3D(filters, (1, 3, 3), padding="same")(x)
        x = L.ReLU()(L.BatchNormalization()(x))
        x = L.Conv3D(filters, (3, 1, 1), padding="same")(x)
        x = L.ReLU()(L.BatchNormalization()(x))
        x = L.MaxPooling3D((1, 2, 2))(x)
    return finished(inputs, L.Dense(20)(L.GlobalAveragePooling3D()(x)), SPARSE)


@family("volumes")
def volume_cnn() -> Any:
    inputs = x = keras.Input((32, 32, 32, 1))
    for filters in (16, 32, 64):
        x = L.MaxPooling3D()(L.Conv3D(filters, 3, padding="same", activation="relu")(x))
    return finished(inputs, L.Dense(4)(L.Dropout(0.3)(L.Dense(128, activation="relu")(L.Flatten()(x)))), SPARSE)


@family("volumes")
def volume_unet() -> Any:
    inputs = x = keras.Input((32, 32, 16, 1))
    kept = []
    for filters in (8, 16, 32):
        x = L.ReLU()(L.BatchNormalization()(L.Conv3D(filters, 3, padding="same")(x)))
        kept.append(x)
        x = L.MaxPooling3D(2)(x)
    x = L.Conv3D(64, 3, padding="same", activation="relu")(x)
    for skip in reversed(kept):
        x = L.Conv3DTranspose(skip.shape[-1], 2, strides=2)(x)
        x = L.Conv3D(skip.shape[-1], 3, padding="same", activation="relu")(L.Concatenate()([x, skip]))
    return finished(inputs, L.Conv3D(2, 1)(x), SPARSE)


# Dilated convolutions.


@family("dilated")
def wavenet() -> Any:
    inputs = keras.Input((1024, 1))
    x = L.Conv1D(32, 2, padding="causal")(inputs)
    skips = []
    for dilation in (1, 2, 4, 8, 16, 32):
        gate = L.Conv1D(32, 2, padding="causal", dilation_rate=dilation, activation="sigmoid")(x)
        kept = L.Conv1D(32, 2, padding="causal", dilation_rate=dilation, activation="tanh")(x)
        y = L.Multiply()([gate, kept])
        skips.append(L.Conv1D(64, 1)(y))
        x = L.Add()([x, L.Conv1D(32, 1)(y)])
    x = L.Conv1D(128, 1, activation="relu")(L.ReLU()(L.Add()(skips)))
    return finished(inputs, L.Conv1D(256, 1)(x), SPARSE)


@family("dilated")
def temporal() -> Any:
    inputs = x = keras.Input((256, 16))
    for dilation in (1, 2, 4, 8):
        y = L.Conv1D(64, 3, padding="causal", dilation_rate=dilation)(x)
        y = L.SpatialDropout1D(0.1)(L.ReLU()(L.LayerNormalization()(y)))
        y = L.ReLU()(L.Conv1D(64, 3, padding="causal", dilation_rate=dilation)(y))
        x = L.Add()([y, x if x.shape[-1] == 64 else L.Conv1D(64, 1)(x)])
    return finished(inputs, L.Dense(1)(x))


@family("dilated")
def atrous() -> Any:
    inputs = keras.Input((96, 96, 3))
    x = inputs
    for filters in (24, 48):
        x = L.ReLU()(L.BatchNormalization()(L.Conv2D(filters, 3, strides=2, padding="same")(x)))
    branches = [L.Conv2D(48, 1, activation="relu")(x)]
    for rate in (2, 4, 6):
        y = L.Conv2D(48, 3, padding="same", dilation_rate=rate, use_bias=False)(x)
        branches.append(L.ReLU()(L.BatchNormalization()(y)))
    x = L.Conv2D(64, 1, activation="relu")(L.Concatenate()(branches))
    x = L.UpSampling2D(4, interpolation="bilinear")(x)
    return finished(inputs, L.Conv2D(21, 1)(x), SPARSE)


# Transposed convolutions.


@family("transposed")
def generator() -> Any:
    inputs = keras.Input((100,))
    x = L.Reshape((4, 4, 128))(L.Dense(4 * 4 * 128)(inputs))
    for filters in (96, 64, 32):
        x = L.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False)(x)
        x = L.LeakyReLU(0.2)(L.BatchNormalization()(x))
    return finished(inputs, L.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh")(x))


@family("transposed")
def transposed_unet() -> Any:
    inputs = x = keras.Input((64, 64, 3))
    kept = []
    for filters in (16, 32, 64):
        x = L.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = L.BatchNormalization()(L.Conv2D(filters, 3, padding="same", activation="relu")(x))
        kept.append(x)
        x = L.MaxPooling2D()(x)
    x = L.Conv2D(128, 3, padding="same", activation="relu")(x)
    for skip in reversed(kept):
        x = L.Conv2DTranspose(skip.shape[-1], 3, strides=2, padding="same")(x)
        x = L.Conv2D(skip.shape[-1], 3, padding="same", activation="relu")(L.Concatenate()([x, skip]))
    return finished(inputs, L.Conv2D(1, 1, activation="sigmoid")(x), BINARY)


@family("transposed")
def wave_autoencoder() -> Any:
    inputs = x = keras.Input((512, 2))
    for filters in (16, 32, 64):
        x = L.Conv1D(filters, 5, strides=2, padding="same", activation="elu")(x)
    for filters in (32, 16, 8):
        x = L.Conv1DTranspose(filters, 5, strides=2, padding="same", activation="elu")(x)
    return finished(inputs, L.Conv1D(2, 5, padding="same")(x))


# Gated and generative image models.


def _group_norm(x: Any) -> Any:
    return L.GroupNormalization(8)(x)


@family("diffusion")
def attention_unet() -> Any:
    inputs = x = keras.Input((64, 64, 3))
    kept = []
    for filters in (16, 32, 64):
        x = L.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = L.ReLU()(L.BatchNormalization()(L.Conv2D(filters, 3, padding="same")(x)))
        kept.append(x)
        x = L.MaxPooling2D()(x)
    for skip in reversed(kept):
        filters = skip.shape[-1]
        x = L.UpSampling2D()(x)
        gate = L.ReLU()(L.Add()([L.Conv2D(filters, 1)(x), L.Conv2D(filters, 1)(skip)]))
        skip = L.Multiply()([skip, L.Conv2D(1, 1, activation="sigmoid")(gate)])
        x = L.Conv2D(filters, 3, padding="same", activation="relu")(L.Concatenate()([x, skip]))
    return finished(inputs, L.Conv2D(1, 1, activation="sigmoid")(x), BINARY)


@family("diffusion")
def denoiser() -> Any:
    image, time = keras.Input((32, 32, 3)), keras.Input((32,))
    x = L.Conv2D(32, 3, padding="same")(image)
    moment = L.Dense(64, activation="silu")(time)
    kept = []
    for filters in (32, 64):
        y = L.Conv2D(filters, 3, padding="same")(L.Activation("silu")(_group_norm(x)))
        y = y + L.Reshape((1, 1, filters))(L.Dense(filters)(moment))
        y = L.Conv2D(filters, 3, padding="same")(L.Activation("silu")(_group_norm(y)))
        x = y + (x if x.shape[-1] == filters else L.Conv2D(filters, 1)(x))
        kept.append(x)
        x = L.Conv2D(filters, 3, strides=2, padding="same")(x)
    flat = L.Reshape((64, 64))(_group_norm(x))
    x = x + L.Reshape((8, 8, 64))(L.MultiHeadAttention(2, 32)(flat, flat))
    for skip in reversed(kept):
        x = L.Concatenate()([L.UpSampling2D()(x), skip])
        x = L.Conv2D(skip.shape[-1], 3, padding="same")(L.Activation("silu")(_group_norm(x)))
    return finished([image, time], L.Conv2D(3, 3, padding="same")(x))


@family("diffusion")
def super_resolution() -> Any:
    inputs = keras.Input((32, 32, 3))
    x = start = L.Conv2D(48, 3, padding="same")(inputs)
    for _ in range(4):
        y = L.Conv2D(48, 3, padding="same")(L.PReLU(shared_axes=[1, 2])(L.Conv2D(48, 3, padding="same")(x)))
        x = x + y
    x = L.Conv2D(48, 3, padding="same")(x) + start
    x = L.Conv2D(192, 3, padding="same")(x)
    x = ops.reshape(ops.transpose(ops.reshape(x, (-1, 32, 32, 2, 2, 48)), (0, 1, 3, 2, 4, 5)), (-1, 64, 64, 48))
    return finished(inputs, L.Conv2D(3, 3, padding="same")(x), "mean_absolute_error")


# Images cut into patches.


def _patches(inputs: Any, patch: int, width: int) -> Any:
    x = L.Conv2D(width, patch, strides=patch)(inputs)
    return L.Reshape((x.shape[1] * x.shape[2], width))(x)


@family("patches")
def mixer() -> Any:
    inputs = keras.Input((64, 64, 3))
    x = _patches(inputs, 8, 128)
    for _ in range(4):
        y = L.Permute((2, 1))(L.LayerNormalization()(x))
        y = L.Permute((2, 1))(L.Dense(64)(L.Dense(128, activation="gelu")(y)))
        x = x + y
        x = x + L.Dense(128)(L.Dense(512, activation="gelu")(L.LayerNormalization()(x)))
    return finished(inputs, L.Dense(100)(L.GlobalAveragePooling1D()(x)), SPARSE)


@family("patches")
def vision_transformer() -> Any:
    inputs = keras.Input((96, 96, 3))
    x = _patches(inputs, 8, 96)
    x = x + positions(x)
    for _ in range(4):
        y = L.LayerNormalization(epsilon=1e-6)(x)
        x = x + L.MultiHeadAttention(3, 32, dropout=0.1)(y, y)
        x = x + L.Dropout(0.1)(L.Dense(96)(L.Dense(384, activation="gelu")(L.LayerNormalization(epsilon=1e-6)(x))))
    return finished(inputs, L.Dense(100)(L.LayerNormalization()(x)[:, 0]), SPARSE)


@family("patches")
def windows() -> Any:
    """Attention inside windows of the image, as in Swin."""
    inputs = keras.Input((64, 64, 3))
    x = L.LayerNormalization()(L.Conv2D(64, 4, strides=4)(inputs))
    for _ in range(3):
        y = ops.reshape(L.LayerNormalization()(x), (-1, 4, 4, 4, 4, 64))
        y = ops.reshape(ops.transpose(y, (0, 1, 3, 2, 4, 5)), (-1, 16, 64))
        y = L.MultiHeadAttention(2, 32)(y, y)
        y = ops.transpose(ops.reshape(y, (-1, 4, 4, 4, 4, 64)), (0, 1, 3, 2, 4, 5))
        x = x + ops.reshape(y, (-1, 16, 16, 64))
        x = x + L.Dense(64)(L.Dense(256, activation="gelu")(L.LayerNormalization()(x)))
    return finished(inputs, L.Dense(100)(L.GlobalAveragePooling2D()(x)), SPARSE)


# Depthwise and squeezed convolutions.


@family("mobile")
def inverted() -> Any:
    inputs = keras.Input((96, 96, 3))
    x = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(inputs)))
    for filters, strides in ((24, 2), (24, 1), (40, 2), (40, 1), (80, 2), (80, 1)):
        y = L.ReLU(6.0)(L.BatchNormalization()(L.Conv2D(4 * x.shape[-1], 1, use_bias=False)(x)))
        y = L.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(y)
        y = L.ReLU(6.0)(L.BatchNormalization()(y))
        y = L.BatchNormalization()(L.Conv2D(filters, 1, use_bias=False)(y))
        x = L.Add()([x, y]) if strides == 1 else y
    return finished(inputs, L.Dense(100)(L.GlobalAveragePooling2D()(x)), SPARSE)


@family("mobile")
def squeezed() -> Any:
    inputs = keras.Input((80, 80, 3))
    x = L.Activation("swish")(L.BatchNormalization()(L.Conv2D(24, 3, strides=2, padding="same")(inputs)))
    for filters in (32, 48, 64):
        y = L.Activation("swish")(L.BatchNormalization()(L.Conv2D(96, 1, use_bias=False)(x)))
        y = L.DepthwiseConv2D(5, strides=2, padding="same", use_bias=False)(y)
        y = L.Activation("swish")(L.BatchNormalization()(y))
        gate = L.Dense(96, activation="sigmoid")(L.Dense(8, activation="swish")(L.GlobalAveragePooling2D()(y)))
        y = L.Multiply()([y, L.Reshape((1, 1, 96))(gate)])
        x = L.BatchNormalization()(L.Conv2D(filters, 1, use_bias=False)(y))
    return finished(inputs, L.Dense(100)(L.Dropout(0.2)(L.GlobalAveragePooling2D()(x))), SPARSE)


@family("mobile")
def separable() -> Any:
    inputs = x = keras.Input((72, 72, 3))
    x = L.ReLU()(L.BatchNormalization()(L.Conv2D(32, 3, strides=2, use_bias=False)(x)))
    for filters in (64, 96, 128):
        y = L.BatchNormalization()(L.SeparableConv2D(filters, 3, padding="same", use_bias=False)(x))
        y = L.BatchNormalization()(L.SeparableConv2D(filters, 3, padding="same", use_bias=False)(L.ReLU()(y)))
        y = L.MaxPooling2D(3, strides=2, padding="same")(y)
        x = y + L.BatchNormalization()(L.Conv2D(filters, 1, strides=2, padding="same", use_bias=False)(x))
    return finished(inputs, L.Dense(100)(L.GlobalAveragePooling2D()(x)), SPARSE)


# Ordinary convolutional classifiers.


@family("classifiers")
def wide_residual() -> Any:
    inputs = keras.Input((32, 32, 3))
    x = L.Conv2D(16, 3, padding="same")(inputs)
    for filters, strides in ((64, 1), (128, 2), (256, 2)):
        y = L.ReLU()(L.BatchNormalization()(x))
        z = L.Conv2D(filters, 3, strides=strides, padding="same")(y)
        z = L.Dropout(0.3)(L.ReLU()(L.BatchNormalization()(z)))
        z = L.Conv2D(filters, 3, padding="same")(z)
        x = z + L.Conv2D(filters, 1, strides=strides)(y)
    return finished(inputs, L.Dense(100)(L.GlobalAveragePooling2D()(L.ReLU()(x))), SPARSE)


@family("classifiers")
def dense_blocks() -> Any:
    inputs = keras.Input((48, 48, 3))
    x = L.Conv2D(24, 3, padding="same")(inputs)
    for _ in range(3):
        for _ in range(4):
            y = L.Conv2D(48, 1, use_bias=False)(L.ReLU()(L.BatchNormalization()(x)))
            y = L.Conv2D(12, 3, padding="same", use_bias=False)(L.ReLU()(L.BatchNormalization()(y)))
            x = L.Concatenate()([x, y])
        x = L.AveragePooling2D(2)(L.Conv2D(x.shape[-1] // 2, 1)(L.ReLU()(L.BatchNormalization()(x))))
    return finished(inputs, L.Dense(100)(L.GlobalAveragePooling2D()(x)), SPARSE)


@family("classifiers")
def plain_stack() -> Any:
    inputs = x = keras.Input((64, 64, 3))
    for filters in (32, 64, 128, 128):
        x = L.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = L.MaxPooling2D()(L.Conv2D(filters, 3, padding="same", activation="relu")(x))
    x = L.Dropout(0.5)(L.Dense(512, activation="relu")(L.Flatten()(x)))
    return finished(inputs, L.Dense(100, activation="softmax")(x), "categorical_crossentropy")


@family("classifiers")
def patch_mixer() -> Any:
    """Large depthwise kernels between pointwise ones, as in ConvMixer and ConvNeXt."""
    inputs = keras.Input((64, 64, 3))
    x = L.LayerNormalization()(L.Conv2D(64, 4, strides=4)(inputs))
    for _ in range(3):
        y = L.LayerNormalization()(L.DepthwiseConv2D(7, padding="same")(x))
        x = x + L.Dense(64)(L.Dense(256, activation="gelu")(y))
    return finished(inputs, L.Dense(100)(L.GlobalAveragePooling2D()(x)), SPARSE)


# Applications that ship with Keras.


def _application(name: str, image: int) -> Builder:
    def build() -> Any:
        options = {"include_preprocessing": False} if name.startswith(("EfficientNetV2", "ConvNeXt")) else {}
        model = getattr(keras.applications, name)(
            weights=None, input_shape=(image, image, 3), classes=100, classifier_activation=None, **options
        )
        model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return model

    return build


FAMILIES["applications"] = {
    name.lower(): _application(name, image)
    for name, image in (
        ("MobileNetV2", 96),
        ("ResNet50V2", 96),
        ("VGG16", 64),
        ("Xception", 96),
        ("DenseNet121", 96),
        ("EfficientNetV2B0", 96),
        ("ConvNeXtTiny", 96),
        ("InceptionV3", 96),
    )
}
