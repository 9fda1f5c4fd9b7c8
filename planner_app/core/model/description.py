"""What a model is: as read from its file (`CheckedModel`) and as Keras understands it (`ModelDescription`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner_app.core.model.fine_tune import LayerState


@dataclass(frozen=True, slots=True)
class WeightShape:
    """A stored weight: its path in the file, never its values."""

    path: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """What the reader extracted from a model file and checked. Models are rebuilt from this only, never from the file.

    Attributes:
        format: "keras", "h5", "savedmodel", "json" or "python".
        config: The model's configuration, every class in it on the allow-list. Empty for "python".
        legacy: The configuration is in the form Keras 2 wrote.
        compile_config: The saved optimizer, loss and metrics, if there were any.
        sha256: Of the file (of a folder: of its files in order of their names).
        custom: The user's Python file with custom classes; for "python", `file.py:function`.
        data: The user's `file.py:function` that returns one batch of training data.
        trusted: Installed packages whose registered classes the configuration may name.
        layers: Of a live model: what became of each of its layers, which a configuration need not say.
    """

    name: str
    format: str
    config: Mapping[str, Any]
    legacy: bool = False
    compile_config: Mapping[str, Any] | None = None
    keras_version: str | None = None
    sha256: str = ""
    file_bytes: int = 0
    weights: tuple[WeightShape, ...] = ()
    custom: str | None = None
    warnings: tuple[str, ...] = ()
    data: str | None = None
    trusted: tuple[str, ...] = ()
    layers: tuple[LayerState, ...] = ()


def says_its_size(model: CheckedModel) -> bool:
    """Whether the configuration spells out every layer, so that its length tells how large the model is."""
    return model.format not in ("python", "live") and not model.trusted


@dataclass(frozen=True, slots=True)
class TensorShape:
    """A model's input or output. Dimensions are numbers or names: "batch", or an unknown one a setup can fill."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer. `path` leads through nested models: "encoder/block_1/dense"."""

    name: str
    path: str
    class_name: str
    output_shapes: tuple[tuple[int | str, ...], ...]
    dtype: str
    trainable_params: int
    frozen_params: int
    weight_bytes: int
    trainable: bool = True
    shared: bool = False


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """A model without its weights: what `plimsoll describe` shows and every estimate starts from.

    Attributes:
        optimizer: The optimizer the model was compiled with, in a few words; None if there is none. `loss` likewise.
        only_batch: The batch size that is fixed in the model; 0 for any.
    """

    name: str
    class_name: str
    format: str
    layers: tuple[Layer, ...]
    inputs: tuple[TensorShape, ...]
    outputs: tuple[TensorShape, ...]
    trainable_params: int
    frozen_params: int
    weight_bytes: int
    keras_version: str | None
    sha256: str
    optimizer: str | None = None
    loss: str | None = None
    unknown_dims: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())
    only_batch: int = 0

    @property
    def params(self) -> int:
        return self.trainable_params + self.frozen_params
