"""Harmless files that a reader of model files must refuse, and the small parts they are made of."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

Config = dict[str, Any]

# A user's file with things that a model may name, and things that it may not.
OFFERING = """
import os, threading
import keras
from os import makedirs
from shutil import rmtree as Tidy
from keras.layers import Lambda as Another
from keras.saving import register_keras_serializable as register
remove = os.remove
Program = keras.layers.TFSMLayer

class Plain:
    def __init__(self, path): os.mkdir(path)

class Runner(threading.Thread): ...

class Scale(keras.layers.Layer): ...

class Twice(Scale): ...

@register("shop", name="Other")
class Shift:
    def get_config(self): return {}

@register()
def swish2(x): return x

def helper(path): os.mkdir(path)

class Meta(type):
    __hash__ = None
    def __eq__(self, other): raise RuntimeError
    module = property(lambda self: os.system)

class Unhashable(metaclass=Meta): ...

class Hidden(type):
    def __getattribute__(self, name): raise RuntimeError(name)

class Raising(metaclass=Hidden): ...

class Proxy:
    __class__ = property(lambda self: 1 / 0)
    def __getattr__(self, name): return os.makedirs

proxy = Proxy()
mkdir = staticmethod(os.mkdir)
make = os.__dict__["makedirs"]
Scale.helper = os.system
def __getattr__(name): return os.makedirs

if True:
    class Late(keras.Model): ...

custom_objects = {"listed": helper}
"""


def layer(class_name: str, *, module: str | None = "keras.layers", name: str = "odd", **options: Any) -> Config:
    return {
        "module": module,
        "class_name": class_name,
        "config": {"name": name, "trainable": True, "dtype": "float32", **options},
        "registered_name": None,
        "name": name,
        "build_config": {"input_shape": [None, 4]},
    }


def input_layer(shape: Any = (None, 4), name: str = "x") -> Config:
    config = {"batch_shape": list(shape), "dtype": "float32", "sparse": False, "name": name}
    return {"module": "keras.layers", "class_name": "InputLayer", "config": config, "registered_name": None}


def function(name: str, module: str) -> Config:
    return {"module": module, "class_name": "function", "config": name, "registered_name": name}


def sequential(*layers: Config, name: str = "model") -> Config:
    config = {"name": name, "trainable": True, "dtype": "float32", "layers": [input_layer(), *layers]}
    return {"module": "keras", "class_name": "Sequential", "config": config, "registered_name": None}


def dense(**options: Any) -> Config:
    return layer("Dense", **{"name": "dense", "units": 2, **options})


def bytecode() -> Config:
    """What a Lambda layer with code looks like; the code is never valid."""
    value = {"code": "4wAAAA==", "defaults": None, "closure": None}
    return {"class_name": "__lambda__", "config": value}


def hdf5(path: Path | io.BytesIO, shapes: Mapping[str, tuple[int, ...]]) -> None:
    with h5py.File(path, "w") as file:
        for place, shape in shapes.items():
            file[place] = np.zeros(shape, "float32")


def keras_file(
    path: Path, config: Any, members: Mapping[str, bytes] | None = None, weights: bytes | None = None
) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", config if isinstance(config, (str, bytes)) else json.dumps(config))
        archive.writestr("metadata.json", '{"keras_version": "3.15.1"}')
        if weights is not None:
            archive.writestr("model.weights.h5", weights)
        for name, data in (members or {}).items():
            archive.writestr(name, data)
    return path


def weights_file(write: Any) -> bytes:
    """An HDF5 file in memory, filled by `write`."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        write(file)
    return buffer.getvalue()
