"""From what `fit` takes to global batches in host memory.

Keras' own adapters read the data, so that arrays, datasets, generators, class weights, shuffling and steps mean what
they mean in Keras. What is trained and comes in batches of another size than the plan's is cut and joined to it within
an epoch.
"""

from collections.abc import Iterator
from types import GeneratorType
from typing import Any

import numpy as np
import tensorflow as tf
from keras.src.trainers.data_adapters import get_data_adapter, is_tf_dataset
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.epoch_iterator import EpochIterator

from planner_app.errors import PlanError
from planner_app.train.data.given import Data
from planner_app.train.data.samples import in_batches, pipeline
from planner_app.train.data.shares import cut, joined, size_of
from planner_app.train.notes import note

PREFETCH = 1


class Feed:
    """Global batches, an epoch at a time. Data stay in host memory; only shares of a batch go to the devices.

    Attributes:
        last: The batch that was read last.
    """

    def __init__(self, source: "_Epochs", batch: int, rebatched: bool) -> None:
        self._source, self._batch, self._rebatched = source, batch, rebatched
        self.last: Any = None

    @property
    def batches(self) -> int | None:
        """Updates in an epoch, where that is known before."""
        return None if self._rebatched else self._source.num_batches

    def epoch(self) -> Iterator[Any]:
        """With a number of steps for each epoch, the next one goes on where this one stopped."""
        given = (_plain(buffer[0]) for _, _, buffer in self._source.enumerate_epoch())
        yield from rebatched(given, self._batch) if self._rebatched else given

    def reset(self) -> None:
        """As Keras does before it trains and before each validation: a PyDataset hears of an epoch's end."""
        self._source.reset()

    def epoch_after(self, trained: int) -> Iterator[Any]:
        """An epoch without its first batches, which are read all the same: what comes after them is what it was."""
        for number, batch in enumerate(self.epoch()):
            self.last = batch
            if number >= trained:
                yield batch

    def skip_epoch(self) -> None:
        """Reads an epoch, so that the next one is what it would be after it."""
        for batch in self.epoch():
            self.last = batch


def feed_of(model: Any, data: Data, *, batch: int, prefetch: int = PREFETCH, trains: bool = False) -> Feed:
    """Whatever Keras' `fit` takes, in global batches.

    Args:
        trains: Whether batches of another size are cut and joined. What is only asked comes as it is given: a loss that
            counts once for each batch, as that of one of several outputs does, depends on it.

    Raises:
        PlanError: The data do not end, or are batched twice.
    """
    x, steps = data.x, data.steps
    if x is None:
        raise PlanError("There are no data to train with: x is None.")
    if is_tf_dataset(x) and not isinstance(x, tf.data.Dataset):
        raise PlanError("The dataset is distributed already: give plan.fit() the plain tf.data.Dataset.")
    rebatch = True
    if isinstance(x, tf.data.Dataset):
        x, rebatch = in_batches(model, x, batch)
        x = x.prefetch(max(prefetch, PREFETCH))
    _check_end(x, steps)
    arrays_or_items = not isinstance(x, tf.data.Dataset) and not hasattr(x, "__next__")
    adapter = get_data_adapter(
        x=x,
        y=data.y,
        sample_weight=data.sample_weight,
        batch_size=batch,
        steps_per_epoch=steps,
        shuffle=data.shuffle if arrays_or_items else False,  # Keras says that it can't shuffle, whether asked to or not
        class_weight=data.class_weight,
    )
    source = _Epochs(adapter, steps)
    return Feed(source, batch, trains and rebatch and not isinstance(adapter, ArrayDataAdapter))


def rebatched(given: Iterator[Any], batch: int) -> Iterator[Any]:
    """Batches of any size, cut and joined. One of the right size stays whole, and so does what came before it.

    That keeps a short batch for itself which shuffling has moved away from the end, as in Keras.
    """
    kept: list[Any] = []
    count = 0
    for part in given:
        size = size_of(part)
        if size == batch:
            if kept:
                yield joined(kept)
            kept, count = [], 0
            yield part
            continue
        kept, count = [*kept, part], count + size
        while count >= batch:
            whole = joined(kept)
            yield cut(whole, 0, batch)
            count -= batch
            kept = [cut(whole, batch, batch + count)] if count else []
    if kept:
        yield joined(kept)


class _Epochs(EpochIterator):  # type: ignore[misc]
    """Keras' account of epochs and steps, over eager batches."""

    def __init__(self, adapter: Any, steps: int | None) -> None:
        super().__init__(adapter, steps_per_epoch=steps)
        with tf.device("CPU:0"):  # arrays stay in host memory: TensorFlow would copy them to the first GPU
            self._dataset = self.data_adapter.get_tf_dataset()

    def _get_iterator(self) -> Any:
        with tf.device("CPU:0"):
            return iter(self._dataset)

    def _interrupted_warning(self) -> None:
        """A generator that ends says so in no other way: only steps that were asked for are missed."""
        if self.steps_per_epoch:
            super()._interrupted_warning()


def _plain(batch: Any) -> Any:
    """Without the empty optionals in which Keras keeps what is None."""
    return tf.nest.map_structure(lambda part: None if isinstance(part, tf.experimental.Optional) else part, batch)


def _check_end(x: Any, steps: int | None) -> None:
    endless = isinstance(x, tf.data.Dataset) and _repeats(x)
    counted = getattr(x, "num_batches", 0)
    if steps is None and (endless or counted is None):
        raise PlanError(
            "The data never end, so an epoch would not either: give steps_per_epoch (validation_steps for validation "
            "data, steps in evaluate and predict), or leave out repeat()."
        )
    if steps is None and isinstance(x, GeneratorType):
        note("An epoch ends when the generator does: one that never ends needs steps_per_epoch.")
    if steps is None and isinstance(x, tf.data.Dataset) and _may_repeat(x):
        note("The data come out of a repeat() without end, so an epoch may not end either: give steps_per_epoch.")


def _repeats(dataset: tf.data.Dataset) -> bool:
    return bool(int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY)


def _may_repeat(dataset: tf.data.Dataset) -> bool:
    """What filters samples without end, for example, does not say that it has none."""
    unknown = int(dataset.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    return unknown and any(_repeats(each) for each in pipeline(dataset))


def array_bytes(*parts: Any) -> int:
    """What arrays take that are given whole."""
    found = [part for part in tf.nest.flatten(parts) if isinstance(part, np.ndarray)]
    return sum(int(part.nbytes) for part in found)
