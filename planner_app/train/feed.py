"""From what `fit` takes to global batches in host memory, and from a global batch to each replica's share."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from planner_app.core.plan.pipeline import Tensor, batching_warning
from planner_app.errors import PlanError

PREFETCH = 1


class Feed:
    """Global batches, an epoch at a time. Data stay in host memory; only shares of a batch go to the devices."""

    def __init__(self, source: Iterable[Any], size: int | None, steps: int | None, repeats: bool = False) -> None:
        self._source, self.size, self.steps = source, size, steps
        self._running: Iterator[Any] | None = None
        self._repeats = repeats

    def epoch(self) -> Iterator[Any]:
        """With a number of steps for each epoch, the next one goes on where this one stopped."""
        if self.steps is None:
            yield from self._source
            return
        for _ in range(self.steps):
            if self._running is None:
                self._running = iter(self._source)
            try:
                batch = next(self._running)
            except StopIteration:
                if not self._repeats:
                    self._running = None
                    return
                self._running = iter(self._source)
                batch = next(self._running)
            yield batch

    @property
    def batches(self) -> int | None:
        """Batches in an epoch, where that is known before."""
        return self.steps if self.steps is not None else self.size


def feed_of(
    model: Any,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    batch: int,
    shuffle: bool = True,
    steps: int | None = None,
    prefetch: int = PREFETCH,
) -> Feed:
    """Datasets, arrays, `PyDataset`s and generators, in batches of any size or none, come out in global batches."""
    if isinstance(x, tf.data.Dataset):
        if y is not None or sample_weight is not None:
            raise PlanError("A dataset brings its own targets and weights: leave y and sample_weight out.")
        return _from_dataset(model, x, batch, steps, prefetch)
    if isinstance(x, keras.utils.PyDataset):
        return Feed(_Rebatched(lambda: _items(x), batch), None, steps)
    if hasattr(x, "__next__"):
        if steps is None:
            raise PlanError("A generator does not say when an epoch ends: give steps_per_epoch.")
        return Feed(_Rebatched(lambda: x, batch), None, steps)
    parts = [x] if y is None and sample_weight is None else [x, y] if sample_weight is None else [x, y, sample_weight]
    return _from_arrays(tuple(parts), batch, shuffle, steps)


def _from_dataset(model: Any, dataset: Any, batch: int, steps: int | None, prefetch: int) -> Feed:
    given, expected = _tensors(dataset.element_spec), _inputs(model)
    said = batching_warning(given, expected)
    if said:
        raise PlanError(said)
    single = expected and given and len(given[0].shape) == len(expected[0].shape) - 1
    dataset = dataset.batch(batch) if single else dataset.rebatch(batch)
    size = int(dataset.cardinality())
    return Feed(dataset.prefetch(max(prefetch, PREFETCH)), size if size >= 0 else None, steps)


def _from_arrays(parts: tuple[Any, ...], batch: int, shuffle: bool, steps: int | None) -> Feed:
    arrays = tf.nest.map_structure(_array, parts)
    lengths = {len(array) for array in tf.nest.flatten(arrays)}
    if len(lengths) != 1:
        raise PlanError(f"The arrays hold {', '.join(map(str, sorted(lengths)))} samples: expected the same of each.")
    return Feed(_Arrays(arrays, lengths.pop(), batch, shuffle), None, steps, repeats=True)


class _Arrays:
    def __init__(self, arrays: Any, length: int, batch: int, shuffle: bool) -> None:
        self._arrays, self._length, self._batch, self._shuffle = arrays, length, batch, shuffle

    def __len__(self) -> int:
        return -(-self._length // self._batch)

    def __iter__(self) -> Iterator[Any]:
        # NumPy's own state: keras.utils.set_random_seed makes it repeat.
        order = np.random.permutation(self._length) if self._shuffle else None
        for start in range(0, self._length, self._batch):
            chosen: Any = slice(start, start + self._batch)
            if order is not None:
                chosen = order[chosen]
            yield tf.nest.map_structure(lambda array, chosen=chosen: array[chosen], self._arrays)


class _Rebatched:
    """Batches of any size, cut and joined to the plan's."""

    def __init__(self, source: Any, batch: int) -> None:
        self._source, self._batch = source, batch

    def __iter__(self) -> Iterator[Any]:
        kept: Any = None
        for given in self._source():
            given = tf.nest.map_structure(_array, given)
            kept = given if kept is None else tf.nest.map_structure(lambda a, b: np.concatenate((a, b)), kept, given)
            while size_of(kept) >= self._batch:
                yield tf.nest.map_structure(lambda array: array[: self._batch], kept)
                kept = tf.nest.map_structure(lambda array: array[self._batch :], kept)
        if kept is not None and size_of(kept):
            yield kept


def _items(dataset: Any) -> Iterator[Any]:
    for n in range(dataset.num_batches):
        yield dataset[n]
    dataset.on_epoch_end()


def _array(value: Any) -> Any:
    """As Keras takes arrays: float64 becomes the backend's own float."""
    array = np.asarray(value)
    return array.astype(keras.config.floatx()) if array.dtype == np.float64 else array


def _tensors(spec: Any) -> list[Tensor]:
    inputs = spec[0] if isinstance(spec, tuple) else spec
    return [
        Tensor(f"input {n}", tuple(each.shape.as_list()))
        for n, each in enumerate(tf.nest.flatten(inputs))
        if getattr(each, "shape", None) is not None and each.shape.rank is not None
    ]


def _inputs(model: Any) -> list[Tensor]:
    return [Tensor(str(each.name), tuple(each.shape)) for each in getattr(model, "inputs", None) or ()]


@dataclass(frozen=True, slots=True)
class Share:
    """What one replica trains in one step. `weight` is its part of the batch; 0 for a share that only keeps it busy."""

    start: int
    stop: int
    weight: float


def shares(size: int, per_gpu_batch: int, replicas: int) -> list[list[Share]]:
    """A batch of `size` samples in steps, and each step in a share for every replica.

    Full steps have `per_gpu_batch` on every replica. What is left is shared out evenly; a replica that gets nothing
    repeats a sample, with no weight, because a mean over no samples is no number.
    """
    steps = []
    for start in range(0, size, per_gpu_batch * replicas):
        left = min(size - start, per_gpu_batch * replicas)
        each, more = divmod(left, replicas)
        step = []
        for replica in range(replicas):
            count = each + (replica < more)
            stop = start + count
            weight = count * replicas / size
            step.append(Share(start, stop, weight) if count else Share(size - 1, size, 0.0))
            start = stop
        steps.append(step)
    return steps


def size_of(batch: Any) -> int:
    return int(next(part.shape[0] for part in tf.nest.flatten(batch) if part is not None))


def cut(batch: Any, share: Share) -> Any:
    """One share, as tensors in host memory."""
    with tf.device("CPU:0"):
        return tf.nest.map_structure(lambda part: tf.convert_to_tensor(part[share.start : share.stop]), batch)
