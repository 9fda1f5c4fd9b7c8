"""What lies on JAX' devices: GPUs have an allocator with books, a CPU has the arrays and what its program says."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from math import prod
from typing import Any

from planner_app.core.measure.measurement import OutOfMemory, StepMemory
from planner_app.core.sharding.fraction import VARIABLE, fraction_of
from planner_app.errors import DeviceError
from planner_app.gpu.nvml import machine_gpus
from planner_app.jobs import protocol

EXHAUSTED = "RESOURCE_EXHAUSTED"
REQUESTED = re.compile(r"[Oo]ut of memory (?:while trying to allocate|allocating) (\d+) ?bytes")
MESSAGE_CHARACTERS = 500


class Devices:
    """Settled before JAX starts: how many devices the CPU stands in for, or how much of a GPU it takes."""

    def __init__(self, request: protocol.Measure) -> None:
        gpus, place = request.setup.gpus, request.place
        if place.on_gpu and place.limit_bytes is not None:
            os.environ[VARIABLE] = fraction_of(place.limit_bytes, _smallest_total(request.watch))
        import jax

        if not place.on_gpu:
            jax.config.update("jax_num_cpu_devices", gpus)  # type: ignore[no-untyped-call]
        try:
            found: list[Any] = jax.devices()
        except RuntimeError as error:
            raise DeviceError(
                'JAX can\'t use the GPUs of this machine: install its CUDA libraries with pip install "jax[cuda12]", '
                "and see what nvidia-smi says.",
                str(error),
            ) from error
        if len(found) < gpus:
            raise DeviceError(f"JAX finds {len(found)} of the {gpus} GPUs that were chosen: see what nvidia-smi says.")
        self.devices = found[:gpus]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(_name, self.devices))

    @property
    def limit_bytes(self) -> int | None:
        return min(
            (told["bytes_limit"] for each in self.devices if "bytes_limit" in (told := _books(each))), default=None
        )

    def in_use(self) -> list[int]:
        import jax

        arrays = held(jax.live_arrays())  # type: ignore[no-untyped-call]
        return [_books(each).get("bytes_in_use", arrays.get(str(each), 0)) for each in self.devices]

    def memory(self, before: list[int], program: Any) -> tuple[StepMemory, ...]:
        """Of a step that is over.

        Args:
            program: The step as it was compiled. Where there are no books, it says what it takes beside its arguments.
        """
        told = program.memory_analysis()
        beside = told.temp_size_in_bytes + max(told.output_size_in_bytes - told.alias_size_in_bytes, 0)
        each = zip(self.devices, before, self.in_use(), strict=True)
        return tuple(
            StepMemory(_name(device), was, _books(device).get("peak_bytes_in_use", was + beside), now)
            for device, was, now in each
        )


def held(arrays: Any) -> dict[str, int]:
    """Bytes on each device, by its name. Shards are not asked for: each would be an array more."""
    import jax

    found: dict[str, int] = defaultdict(int)
    for array in jax.tree.leaves(arrays):
        share = prod(array.sharding.shard_shape(array.shape)) * array.dtype.itemsize
        for device in array.sharding.addressable_devices:
            found[str(device)] += share
    return found


def out_of_memory(said: str, during: str) -> OutOfMemory | None:
    """None if an error of JAX is another one."""
    if EXHAUSTED not in said:
        return None
    requested = REQUESTED.search(said)
    lines = [line.strip() for line in said.splitlines() if "emory" in line] or [said.strip()]
    return OutOfMemory(
        during, requested_bytes=int(requested[1]) if requested else None, message=lines[0][:MESSAGE_CHARACTERS]
    )


def _smallest_total(uuids: tuple[str, ...]) -> int:
    totals = [gpu.total_bytes for gpu in machine_gpus().gpus if gpu.uuid in uuids and gpu.total_bytes]
    if not totals:
        raise DeviceError("The driver does not say how much memory the GPU has: leave out --limit.")
    return min(totals)


def _books(device: Any) -> dict[str, int]:
    """Of the allocator; a CPU has none."""
    return dict(device.memory_stats() or {})


def _name(device: Any) -> str:
    return f"{'CPU' if device.platform == 'cpu' else 'GPU'}:{device.id}"
