"""Layers that turn text into numbers: host work, whatever the device, and no part of the step on it.

What they put out arrives in the step as inputs do. The words themselves, and the tables they are looked up in, stay in
the host's memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from planner_app.errors import ModelError


@contextmanager
def on_the_host(model: keras.Model) -> Iterator[list[str]]:
    """Steps traced in here get the front ends' results as tensors from outside. Gives the layers that this held for."""
    found: list[str] = []
    layers = [layer for layer in model._flatten_layers() if not isinstance(layer, keras.Model)]
    for layer in layers:
        object.__setattr__(layer, "call", _instead(layer, layer.call, found))
    try:
        yield found
    finally:
        for layer in layers:
            object.__delattr__(layer, "call")


def _instead(layer: Any, call: Any, found: list[str]) -> Any:
    def from_outside(*args: Any, **kwargs: Any) -> Any:
        given = [tensor for tensor in keras.tree.flatten((args, kwargs)) if tf.is_tensor(tensor)]
        if not any(tensor.dtype == tf.string for tensor in given) or tf.executing_eagerly():
            return call(*args, **kwargs)
        if layer.name not in found:
            found.append(layer.name)
        return keras.tree.map_structure(lambda spec: _arriving(layer, spec), _made_of(layer, args, kwargs))

    return from_outside


def _made_of(layer: Any, args: Any, kwargs: Any) -> Any:
    symbolic = keras.tree.map_structure(
        lambda tensor: keras.KerasTensor(tensor.shape, tensor.dtype.name) if tf.is_tensor(tensor) else tensor,
        (args, kwargs),
    )
    return layer.compute_output_spec(*symbolic[0], **symbolic[1])


def _arriving(layer: Any, spec: Any) -> Any:
    if any(size is None for size in spec.shape):
        raise ModelError(
            f'How many numbers layer "{layer.name}" makes of a text depends on the text, so the step can\'t be '
            "estimated: give it output_sequence_length, as in TextVectorization(output_sequence_length=128)."
        )
    with tf.init_scope():
        if spec.dtype == "string":
            return tf.constant(b"", shape=spec.shape)
        return tf.zeros(spec.shape, spec.dtype)
