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
from keras.src.layers.preprocessing.index_lookup import IndexLookup

from planner_app.errors import ModelError

ON_THE_HOST = (IndexLookup, keras.layers.Hashing, keras.layers.HashedCrossing)


@contextmanager
def on_the_host(model: keras.Model) -> Iterator[list[str]]:
    """Steps traced in here get the front ends' results as tensors from outside. Gives the layers that this held for."""
    found: list[str] = []
    inside: list[str] = []
    layers = [layer for layer in model._flatten_layers() if not isinstance(layer, keras.Model)]
    for layer in layers:
        object.__setattr__(layer, "call", _instead(layer, layer.call, found, inside))
    try:
        yield found
    finally:
        for layer in layers:
            object.__delattr__(layer, "call")


def _instead(layer: Any, call: Any, found: list[str], inside: list[str]) -> Any:
    def from_outside(*args: Any, **kwargs: Any) -> Any:
        given = [tensor for tensor in keras.tree.flatten((args, kwargs)) if tf.is_tensor(tensor)]
        if inside or tf.executing_eagerly() or not _is_host_work(layer, given):
            return call(*args, **kwargs)
        if layer.name not in found:
            found.append(layer.name)
        with tf.init_scope():
            inside.append(layer.name)
            try:
                made = _followed(call, args, kwargs)
                said = _said(layer, args, kwargs)
            finally:
                inside.clear()
            return keras.tree.map_structure(lambda tensor, spec: _arriving(layer, tensor, spec), made, said)

    return from_outside


def _is_host_work(layer: Any, given: list[Any]) -> bool:
    """Text, and what is looked up in tables of TensorFlow's or hashed, which GPUs have no kernels for."""
    return isinstance(layer, ON_THE_HOST) or any(tensor.dtype == tf.string for tensor in given)


def _followed(call: Any, args: Any, kwargs: Any) -> Any:
    """What comes out, in a graph that is thrown away."""
    flat = keras.tree.flatten((args, kwargs))
    specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in flat if tf.is_tensor(tensor)]

    def run(*tensors: Any) -> Any:
        given = iter(tensors)
        filled = [next(given) if tf.is_tensor(value) else value for value in flat]
        positional, named = keras.tree.pack_sequence_as((args, kwargs), filled)
        return call(*positional, **named)

    return tf.function(run, autograph=False).get_concrete_function(*specs).structured_outputs


def _said(layer: Any, args: Any, kwargs: Any) -> Any:
    """What the layer says of its outputs: it knows sizes that its graph does not show."""
    positional, named = keras.tree.map_structure(
        lambda tensor: keras.KerasTensor(tensor.shape, tensor.dtype.name) if tf.is_tensor(tensor) else tensor,
        (args, kwargs),
    )
    return layer.compute_output_spec(*positional, **named)


def _arriving(layer: Any, tensor: Any, spec: Any) -> Any:
    sizes = tensor.shape.as_list() if tensor.shape.rank is not None else [None] * len(spec.shape)
    said = (
        *spec.shape[:1],
        *spec.shape[max(1, len(spec.shape) - len(sizes) + 1) :],
    )  # one too many, where a text is split
    shape = [size if size is not None else other for size, other in zip(sizes, said, strict=False)]
    if None in shape:
        raise ModelError(
            f'How many numbers layer "{layer.name}" makes of a text depends on the text, so the step can\'t be '
            "estimated: give it output_sequence_length, as in TextVectorization(output_sequence_length=128)."
        )
    made = tf.constant(b"", shape=shape) if tensor.dtype == tf.string else tf.zeros(shape, tensor.dtype)
    made._from_the_host = True
    return made


def arrives(captured: Any) -> bool:
    """Whether a tensor that a step has from outside is a front end's result: other numbers in every step."""
    return getattr(captured, "_from_the_host", False)
