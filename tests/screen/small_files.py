"""Small models as files, written without TensorFlow."""

import json
from pathlib import Path

OWN_CLASSES = '''"""Classes of a model, and functions that make one."""

import keras


@keras.saving.register_keras_serializable("mine")
class Scale(keras.layers.Layer):
    def call(self, inputs):
        return inputs * 2.0


def build_small():
    """A perceptron."""
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), Scale()])


def build_wide():
    """The same, wider."""
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(400)])


def needs_an_argument(units):
    return keras.Sequential([keras.Input((8,)), keras.layers.Dense(units)])
'''


def _layer(class_name: str, module: str = "keras.layers", registered: str | None = None, /, **config: object) -> dict:
    return {"module": module, "class_name": class_name, "config": config, "registered_name": registered}


def write_model(path: Path, *, custom: bool = False) -> Path:
    """A classifier that was saved without a loss; with a class of the user's own if `custom`."""
    layers = [
        _layer("InputLayer", batch_shape=[None, 8], dtype="float32", name="features"),
        _layer("Dense", name="hidden", units=64, activation="relu"),
        _layer("Dense", name="classes", units=1000),
    ]
    if custom:
        layers.append(_layer("Scale", "classes", "mine>Scale", name="scale"))
    config = {"name": "small", "trainable": True, "layers": layers, "build_input_shape": [None, 8]}
    model = {"module": "keras", "class_name": "Sequential", "config": config, "registered_name": "Sequential"}
    path.write_text(json.dumps(model))
    return path


def write_classes(path: Path) -> Path:
    path.write_text(OWN_CLASSES)
    return path
