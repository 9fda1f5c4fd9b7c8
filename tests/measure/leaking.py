"""Models whose training step leaks memory, and one that does not."""

import keras
import tensorflow as tf

KEPT = []
SHAPE = (64,)


class Keeping(keras.Model):
    """Remembers the activations of every batch, as people do to plot them later."""

    def train_step(self, data):
        x, _ = data
        KEPT.append(self(x, training=False))
        return super().train_step(data)


class KeepingInAGraph(keras.Model):
    """The same in a graph: a Python function called from it."""

    def train_step(self, data):
        x, y = data
        tf.py_function(KEPT.append, [2.0 * x], [])
        return super().train_step((x, y))


def made(kind, eagerly):
    inputs = keras.Input(SHAPE, name="x")
    hidden = keras.layers.Dense(256, activation="relu", name="hidden")(inputs)
    model = kind(inputs, keras.layers.Dense(4, name="out")(hidden))
    model.compile(optimizer="adam", loss="mean_squared_error", run_eagerly=eagerly)
    return model


def keeps():
    return made(Keeping, True)


def keeps_in_a_graph():
    return made(KeepingInAGraph, False)


def clean():
    return made(keras.Model, True)
