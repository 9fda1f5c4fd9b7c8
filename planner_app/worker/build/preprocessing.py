"""Preprocessors that a model carries and `fit` calls before each step, as KerasHub's tasks do: the host's work.

A model of a file is rebuilt without its preprocessor, since tokenizers would read files. What it makes of an input is
written in its configuration: how long a text becomes, how large a picture.
"""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from planner_app.core.model.description import CheckedModel
from planner_app.errors import ModelError
from planner_app.worker.build.backend import FAILURES
from planner_app.worker.build.inputs import Tensor, inputs_of
from planner_app.worker.build.said import line
from planner_app.worker.training.feed import first_batch

LENGTH, MASKED = "sequence_length", "mask_selection_length"
OF_MASKED = frozenset({"mask_positions", "mask_ids", "mask_weights"})  # one entry for each token that was masked
OF_PARTS = ("encoder_", "decoder_")  # of models that turn one text into another


def preprocessed(model: keras.Model, data: Any) -> Any:
    """One batch as the model's own preprocessor hands it to the step; without one, the data as it came."""
    preprocess = getattr(model, "preprocess_samples", None)
    if data is None or getattr(model, "preprocessor", None) is None or not callable(preprocess):
        return data
    x, y, weight = keras.utils.unpack_x_y_sample_weight(_as_arrays(first_batch(data)))
    try:
        return preprocess(x, y, weight)
    except FAILURES as error:
        raise ModelError(f"The model's preprocessor can't take the data: {line(error)}") from error


def _as_arrays(value: Any) -> Any:
    """A list is a tensor here, as it is for `fit` with a preprocessor; specs get something to be preprocessed."""
    if isinstance(value, tuple):
        return tuple(map(_as_arrays, value))
    if isinstance(value, Mapping):
        return {key: _as_arrays(each) for key, each in value.items()}
    if value is None or hasattr(value, "__array__"):
        return value
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        shape = tuple(2 if size is None else size for size in value.shape)
        dtype = getattr(value.dtype, "name", str(value.dtype))
        return np.full(shape, "word") if dtype == "string" else np.zeros(shape, dtype)
    return np.asarray(value)


def preprocessed_sizes(model: keras.Model, checked: CheckedModel) -> dict[str, tuple[int, ...]]:
    """Sizes of inputs, by name, that the model leaves open and its preprocessor does not."""
    config = _configuration(model, checked)
    found = {tensor.name: _sizes(tensor, config) for tensor in inputs_of(model)} if config else {}
    return {name: sizes for name, sizes in found.items() if sizes}


def _configuration(model: keras.Model, checked: CheckedModel) -> Mapping[str, Any]:
    if checked.format != "python":
        return _inside(_inside(checked.config).get("preprocessor"))
    preprocessor = getattr(model, "preprocessor", None)
    if not isinstance(preprocessor, keras.layers.Layer):
        return {}
    try:
        return dict(preprocessor.get_config())
    except FAILURES:  # of the author's own making, which need not say how it is made
        return {}


def _inside(saved: Any) -> Mapping[str, Any]:
    config = saved.get("config") if isinstance(saved, Mapping) else None
    return config if isinstance(config, Mapping) else {}


def _sizes(tensor: Tensor, config: Mapping[str, Any]) -> tuple[int, ...]:
    open_sizes = tensor.shape[1:]
    if len(open_sizes) == 1:
        part = next((part for part in OF_PARTS if tensor.name.startswith(part)), "")
        said: list[Any] = [config.get(MASKED if tensor.name in OF_MASKED else part + LENGTH)]
    elif len(open_sizes) == 3:
        side = _inside(config.get("image_converter")).get("image_size")
        said = [*side, open_sizes[-1]] if isinstance(side, (list, tuple)) and len(side) == 2 else []
    else:
        return ()
    if len(said) != len(open_sizes) or not all(isinstance(size, int) and size > 0 for size in said):
        return ()
    return tuple(wanted if size is None else size for size, wanted in zip(open_sizes, said, strict=True))
