"""Sizes for steps that index a batch size: `ops.shape(x)[0][..., None]`.

Under `fit` a batch size is mostly a tensor, because the last batch is smaller. Steps are traced for one batch size, and
find a whole number in its place: here one that can be indexed as the tensor can.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow import core

NOT_INDEXED = "'int' object is not subscriptable"


class _Size(int):
    """A whole number everywhere but between brackets."""

    def __getitem__(self, index: Any) -> Any:
        return tf.constant(int(self))[index]


def indexes_a_size(error: BaseException) -> bool:
    return isinstance(error, TypeError) and NOT_INDEXED in str(error)


@contextmanager
def indexed_sizes() -> Iterator[None]:
    """What asks Keras for a shape in here gets a batch size that can be indexed."""
    before = core.shape

    def shape(x: Any) -> Any:
        found = before(x)
        if isinstance(found, tuple) and found and type(found[0]) is int:
            return (_Size(found[0]), *found[1:])
        return found

    core.shape = shape
    try:
        yield
    finally:
        core.shape = before
