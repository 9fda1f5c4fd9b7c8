"""Sizes that TensorFlow can count. Beyond 2^63 elements its kernels abort the process, or wrap round and go on."""

import math
from collections.abc import Iterator

import keras

from planner_app.errors import ModelError

MOST_ELEMENTS = 2**45  # of one weight, or of one tensor for one sample: 128 TiB, which leaves room for any batch


def check_countable(model: keras.Model) -> None:
    for name, what, shape in _shapes(model):
        elements = math.prod(size for size in shape if size is not None)
        if elements > MOST_ELEMENTS:
            sizes = " x ".join("?" if size is None else f"{size}" for size in shape)
            raise ModelError(
                f"The {what} of layer {name!r} would be {sizes[:120]}, more elements than TensorFlow can count. "
                "Check the layer's sizes and those of the inputs."
            )


def is_overflow(error: BaseException | None) -> bool:
    """A number that C can't take, perhaps several errors back."""
    while error is not None and not isinstance(error, OverflowError):
        error = error.__cause__ or error.__context__
    return error is not None


def too_large() -> ModelError:
    return ModelError(
        "The model has a tensor with more elements than TensorFlow can count. Check the sizes of its layers and inputs."
    )


def _shapes(model: keras.Model) -> Iterator[tuple[str, str, tuple[int | None, ...]]]:
    for layer in model._flatten_layers():
        for weight in layer._trainable_variables + layer._non_trainable_variables:
            yield layer.name, "weight", tuple(weight.shape)
        for node in layer._inbound_nodes:
            for tensor in node.output_tensors:
                yield layer.name, "output", tuple(tensor.shape)
