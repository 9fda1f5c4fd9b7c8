"""Two small saved models: `python saved_models.py FOLDER`."""

import sys
from pathlib import Path

import keras
from keras import layers


def perceptron() -> keras.Model:
    inputs = keras.Input((784,))
    hidden = layers.Dense(2048, activation="relu")(layers.Dense(2048, activation="relu")(inputs))
    model = keras.Model(inputs, layers.Dense(10)(hidden), name="perceptron")
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def text_classifier() -> keras.Model:
    inputs = keras.Input((64,), dtype="int32")
    pooled = layers.GlobalAveragePooling1D()(layers.Embedding(5000, 128)(inputs))
    model = keras.Model(inputs, layers.Dense(4)(pooled), name="text")
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


if __name__ == "__main__":
    for made in (perceptron(), text_classifier()):
        made.save(Path(sys.argv[1], f"{made.name}.keras"))
