"""Weights that a user's function would load, from the network or from a file: values change no figure, so none are."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
from keras.src.utils import file_utils

WEIGHTS = (".h5", ".hdf5", ".keras", ".ckpt", ".index")


@contextmanager
def not_loaded() -> Iterator[None]:
    """`weights="imagenet"` and `load_weights` leave a model as it was made. Other files are fetched as ever."""
    get_file, load_weights = file_utils.get_file, keras.Model.load_weights

    def named(fname: Any = None, origin: Any = None, *others: Any, **more: Any) -> Any:
        name = str(fname or origin)
        return name if name.endswith(WEIGHTS) else get_file(fname, origin, *others, **more)

    file_utils.get_file = named
    keras.Model.load_weights = lambda *_args, **_more: None
    try:
        yield
    finally:
        file_utils.get_file, keras.Model.load_weights = get_file, load_weights
