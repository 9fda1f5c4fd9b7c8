"""Write planner_app/data/demo.keras: a small residual network for 32 x 32 pictures, with its training setup.

    python packaging/make_demo_model.py

Small enough for the package, and with everything the tool has something to say about: batch normalization, a residual
connection, dropout, a saved optimizer and loss.
"""

from pathlib import Path

import keras
from keras import layers

TARGET = Path(__file__).parent.parent / "planner_app" / "data" / "demo.keras"


def block(x, filters: int, strides: int, name: str):
    shortcut = layers.Conv2D(filters, 1, strides=strides, name=f"{name}_shortcut")(x) if strides > 1 else x
    x = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False, name=f"{name}_conv1")(x)
    x = layers.BatchNormalization(name=f"{name}_norm1")(x)
    x = layers.ReLU(name=f"{name}_relu1")(x)
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"{name}_conv2")(x)
    x = layers.BatchNormalization(name=f"{name}_norm2")(x)
    x = layers.Add(name=f"{name}_add")([x, shortcut])
    return layers.ReLU(name=f"{name}_relu2")(x)


def build() -> keras.Model:
    keras.utils.set_random_seed(0)
    pictures = keras.Input((32, 32, 3), name="pictures")
    x = layers.Conv2D(16, 3, padding="same", use_bias=False, name="stem")(pictures)
    x = layers.BatchNormalization(name="stem_norm")(x)
    x = layers.ReLU(name="stem_relu")(x)
    x = block(x, 16, 1, "block1")
    x = block(x, 32, 2, "block2")
    x = block(x, 64, 2, "block3")
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    x = layers.Dropout(0.2, name="dropout")(x)
    classes = layers.Dense(10, activation="softmax", name="classes")(x)
    model = keras.Model(pictures, classes, name="demo_resnet")
    model.compile(keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy")
    return model


if __name__ == "__main__":
    build().save(TARGET)
