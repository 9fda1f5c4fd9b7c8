"""A global batch in host memory, and the share of it that each replica trains in each step."""

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from planner_app.errors import PlanError


@dataclass(frozen=True, slots=True)
class Share:
    """What one replica trains in one step. `weight` is its part of the batch; 0 for a share that only keeps it busy."""

    start: int
    stop: int
    weight: float


def shares(size: int, per_gpu_batch: int, replicas: int) -> list[list[Share]]:
    """A batch of `size` samples in steps, and each step in a share for every replica.

    Full steps have `per_gpu_batch` on every replica. What is left is shared out evenly; a replica that gets nothing
    repeats a sample, with no weight, because a mean over no samples is not a number.
    """
    steps = []
    for start in range(0, size, per_gpu_batch * replicas):
        left = min(size - start, per_gpu_batch * replicas)
        each, more = divmod(left, replicas)
        step = []
        for replica in range(replicas):
            count = each + (replica < more)
            stop = start + count
            step.append(Share(start, stop, count / size) if count else Share(size - 1, size, 0.0))
            start = stop
        steps.append(step)
    return steps


def has_filler(step: list[Share]) -> bool:
    return any(share.weight == 0 for share in step)


def size_of(batch: Any) -> int:
    return int(next(part.shape[0] for part in flat(batch) if part is not None))


def shapes_of(batch: Any) -> tuple[Any, ...]:
    """What a step of this batch is traced for."""
    return tuple(None if part is None else tuple(part.shape) for part in flat(batch))


def cut(batch: Any, start: int, stop: int) -> Any:
    """Some of a batch's samples, as tensors in host memory."""
    with tf.device("CPU:0"):
        return tf.nest.map_structure(lambda part: _cut(part, start, stop), batch)


def joined(batches: list[Any]) -> Any:
    """Batches one after the other, in host memory."""
    if len(batches) == 1:
        return batches[0]
    with tf.device("CPU:0"):
        return tf.nest.map_structure(_join, *batches)


def flat(batch: Any) -> list[Any]:
    return list(tf.nest.flatten(batch))


def _cut(part: Any, start: int, stop: int) -> Any:
    if part is None:
        return None
    if isinstance(part, tf.SparseTensor):
        rest = part.dense_shape[1:]
        begin = tf.concat([tf.constant([start], tf.int64), tf.zeros_like(rest)], 0)
        return tf.sparse.slice(part, begin, tf.concat([tf.constant([stop - start], tf.int64), rest], 0))
    found = part[start:stop]
    return found if isinstance(found, tf.RaggedTensor) else tf.convert_to_tensor(found)


def _join(*parts: Any) -> Any:
    if parts[0] is None:
        return None
    if isinstance(parts[0], tf.Tensor):
        _check_alike([tuple(part.shape[1:]) for part in parts])
    return tf.sparse.concat(0, parts) if isinstance(parts[0], tf.SparseTensor) else tf.concat(parts, 0)


def _check_alike(shapes: list[tuple[int, ...]]) -> None:
    """
    Raises:
        PlanError: Samples differ from batch to batch, as texts do that are padded to the longest of their batch.
    """
    other = next((shape for shape in shapes if shape != shapes[0]), None)
    if other is not None:
        raise PlanError(
            f"The data's batches can't be joined to the plan's: samples of one have the shape {shapes[0]}, of another "
            f"{other}. Batch the data by plan.global_batch, or pad all samples to one shape."
        )
