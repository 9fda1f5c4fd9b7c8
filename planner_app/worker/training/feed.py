"""What a training step is given: a structure of inputs, targets and weights, of any batch size.

feed = Feed((Slot("image", (None, 28, 28, 1), "float32"), Slot("target of dense", (None,), "int32", different=10)))
feed.specs(32)     # the same structure of specs, as the backend has them
feed.arrays(32)    # of NumPy arrays, the same in every process
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import keras
import ml_dtypes  # noqa: F401 - NumPy knows bfloat16 and float8 by it
import numpy as np

from planner_app.errors import SetupError
from planner_app.worker.build.backend import FAILURES, spec

TWO = 2  # of integers about which nothing is known: every table has two rows, every flag two states
UNKNOWN = -1  # a size that nobody has said


@dataclass(frozen=True, slots=True)
class Slot:
    """One tensor of the batch.

    Attributes:
        shape: Sizes; None where the batch stands, UNKNOWN where the model leaves a size open.
        different: How many different integers there are.
        sample: One batch of the user's own, repeated to the size that is needed.
    """

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    different: int = TWO
    sample: Any = None

    def sized(self, batch: int) -> tuple[int, ...]:
        if UNKNOWN in self.shape:
            sizes = [size for size in self.shape if size is not None]
            said = ", ".join("?" if size == UNKNOWN else str(size) for size in sizes)
            example = ",".join("128" if size == UNKNOWN else str(size) for size in sizes)
            raise SetupError(
                f'"{self.name}" has a size the model does not say ({said}): give it, as in --set {self.name}={example}.'
            )
        return tuple(batch if size is None else size for size in self.shape)

    def spec(self, batch: int) -> Any:
        return spec(self.sized(batch), self.dtype)

    def array(self, rng: np.random.Generator, batch: int) -> Any:
        """Real numbers lie between 0 and 1."""
        shape = self.sized(batch)
        if self.sample is not None:
            return np.resize(self.sample, shape)
        if self.dtype == "string":
            return np.full(shape, b"word")
        dtype = np.dtype(self.dtype)
        if dtype.kind == "b":
            return rng.integers(0, TWO, shape).astype(dtype)
        if dtype.kind in "iu":
            return rng.integers(0, min(self.different, int(np.iinfo(dtype).max)), shape).astype(dtype)
        return rng.random(shape, dtype="float32").astype(dtype)


@dataclass(frozen=True, slots=True)
class Feed:
    """Attributes:
    structure: Slots, nested as the step takes them.
    batch: The only batch size the step can be given, where one is written into the model.
    """

    structure: Any
    batch: int | None = None

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(leaf for leaf in keras.tree.flatten(self.structure) if isinstance(leaf, Slot))

    def specs(self, batch: int) -> Any:
        return self._mapped(lambda slot: slot.spec(batch))

    def arrays(self, batch: int) -> Any:
        rng = np.random.default_rng(0)
        return self._mapped(lambda slot: slot.array(rng, batch))

    def filled(self, sizes: dict[str, tuple[int, ...]]) -> Feed:
        """With the sizes a setup gives for inputs, by name and without the batch."""
        return replace(self, structure=self._mapped(lambda slot: _filled(slot, sizes)))

    def _mapped(self, change: Callable[[Slot], Any]) -> Any:
        return keras.tree.map_structure(lambda leaf: change(leaf) if isinstance(leaf, Slot) else leaf, self.structure)


def _filled(slot: Slot, sizes: dict[str, tuple[int, ...]]) -> Slot:
    given = sizes.get(slot.name)
    if given is None:
        return slot
    if len(given) != len(slot.shape) - 1:
        raise SetupError(
            f'"{slot.name}" takes {len(slot.shape) - 1} sizes beside the batch; {len(given)} came: {list(given)}.'
        )
    fixed = [(size, now) for size, now in zip(slot.shape[1:], given, strict=True) if size not in (UNKNOWN, now)]
    if fixed:
        raise SetupError(
            f'"{slot.name}" has the sizes {list(slot.shape[1:])} written into its code: other sizes can\'t be tried.'
        )
    return replace(slot, shape=(slot.shape[0], *given), sample=None)


def first_batch(data: Any) -> Any:
    """Of the user's own data: one batch of arrays, a `tf.data.Dataset`, another iterable of batches, or specs."""
    if hasattr(data, "element_spec"):  # not imported for it: on JAX there may be no TensorFlow
        return _first_of(data.element_spec, data)
    if isinstance(data, keras.utils.PyDataset):
        return data[0]
    return next(data) if hasattr(data, "__next__") else data


def given_feed(data: Any) -> Feed:
    """The user's own data, as a feed of any batch size."""
    data = first_batch(data)
    leaves = [leaf for leaf in keras.tree.flatten(data) if leaf is not None]
    shapes = [tuple(leaf.shape) for leaf in map(_tensor_like, leaves)]
    batch = next((shape[0] for shape in shapes if shape), None)
    names = _names(data)
    slots = [
        None if leaf is None else _slot(name, _tensor_like(leaf), batch)
        for name, leaf in zip(names, keras.tree.flatten(data), strict=True)
    ]
    return Feed(keras.tree.pack_sequence_as(data, slots))


def sample_batch(data: Any) -> int | None:
    """How many samples a batch of the user's has, if it says."""
    for slot in given_feed(data).slots:
        if slot.sample is not None and slot.shape and slot.shape[0] is None:
            return int(slot.sample.shape[0])
    return None


def _first_of(spec: Any, dataset: Any) -> Any:
    """The first batch; of a dataset that can't be read in the sandbox, what it says of itself."""
    try:
        return next(iter(dataset), spec)
    except FAILURES:
        return spec


def _tensor_like(leaf: Any) -> Any:
    if hasattr(leaf, "ragged_rank"):
        raise SetupError(
            "The data is ragged: how long its rows are, and with them the memory of a step, differs from batch to "
            "batch. Give a batch that is padded to the longest rows: tensor.to_tensor(), or dataset.padded_batch(32)."
        )
    return leaf if hasattr(leaf, "shape") and hasattr(leaf, "dtype") else np.asarray(leaf)


def _slot(name: str, leaf: Any, batch: int | None) -> Slot:
    dtype = leaf.dtype.name if hasattr(leaf.dtype, "name") else str(leaf.dtype)
    dtype = "string" if dtype.startswith(("bytes", "str", "object")) else dtype
    shape = tuple(leaf.shape)
    batched = bool(shape) and (shape[0] is None or shape[0] == batch)
    known = tuple(UNKNOWN if size is None else int(size) for size in shape)
    sizes = (None, *known[1:]) if batched else known
    is_array = isinstance(leaf, np.ndarray) or hasattr(leaf, "__array__")
    sample = np.asarray(leaf) if is_array and not isinstance(leaf, keras.KerasTensor) else None
    if sample is not None and dtype not in ("string", "bool"):
        dtype = _as_keras_feeds(dtype)
        sample = sample.astype(np.dtype(dtype))
    return Slot(name, sizes, dtype, sample=sample)


def _as_keras_feeds(dtype: str) -> str:
    """`fit` casts NumPy's float64 to Keras' float type."""
    return keras.config.floatx() if dtype == "float64" else dtype


def _names(data: Any) -> list[str]:
    return [
        "/".join(str(part) for part in path) or "data"
        for path, _ in keras.tree.flatten_with_path(keras.tree.map_structure(lambda _: 0, data))
    ]
