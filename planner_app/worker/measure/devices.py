"""TensorFlow's devices as a request wants them, settled before the first operation runs: afterwards it is too late."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from planner_app.errors import DeviceError
from planner_app.jobs import protocol

MIB = 1 << 20
SMALLEST_CHUNK = 256
HELD_BACK = protocol.FIRST_REGION - (64 << 10)  # the first region has a few small chunks already
_held: list[Any] = []


def prepare(request: protocol.Measure) -> Any:
    """Limits and logical devices; the strategy that several replicas run under, or None."""
    gpus = request.setup.gpus
    if request.place.on_gpu:
        _prepare_gpus(request)
        return tf.distribute.MirroredStrategy([f"GPU:{n}" for n in range(gpus)]) if gpus > 1 else None
    if gpus == 1:
        _take_all(request)
        return None
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * gpus)
    _take_all(request)
    return tf.distribute.MirroredStrategy([f"CPU:{n}" for n in range(gpus)])


def measured(request: protocol.Measure) -> tuple[str, ...]:
    """Devices with books of their own. Logical CPUs share one allocator: the first one's books are all of theirs'."""
    return tuple(f"GPU:{n}" for n in range(request.setup.gpus)) if request.place.on_gpu else ("CPU:0",)


def _prepare_gpus(request: protocol.Measure) -> None:
    found = tf.config.list_physical_devices("GPU")
    wanted = len(request.place.gpus)
    if len(found) < wanted:
        raise DeviceError(
            f"TensorFlow finds {len(found)} of the {wanted} GPUs that were chosen ({request.place}): install its CUDA "
            'libraries with pip install "plimsoll[cuda]", and see what nvidia-smi says.'
        )
    if request.place.limit_bytes is not None:
        limit = tf.config.LogicalDeviceConfiguration(memory_limit=max(1, request.place.limit_bytes // MIB))
        for gpu in found[:wanted]:
            tf.config.set_logical_device_configuration(gpu, [limit])


def _take_all(request: protocol.Measure) -> None:
    """One region for everything, as on a GPU, where the limit stands in for a GPU's.

    The CPU's allocator always grows. Its first region is taken out of the way for good; the limit it was given has that
    much more. Then bfc_allocator.cc Extend doubles a region's size until the request fits, and takes no more than what
    is left: a request above the largest power of two below that takes all of it. Nothing is written: these are
    addresses, not memory.
    """
    limit = request.place.limit_bytes
    if not request.one_region or limit is None:
        return
    with tf.device("CPU:0"):
        _held.append(tf.raw_ops.Empty(shape=[HELD_BACK], dtype=tf.uint8, init=False))
        left = limit // protocol.MIB * protocol.MIB
        chunks = (1 << (left - 1).bit_length() - 1) // SMALLEST_CHUNK + 1  # a dimension alone has 31 bits
        tf.raw_ops.Empty(shape=[chunks, SMALLEST_CHUNK], dtype=tf.uint8, init=False)


def held_back_bytes() -> int:
    """What is in use and does not count: the first region, taken out of the way."""
    return len(_held) * HELD_BACK
