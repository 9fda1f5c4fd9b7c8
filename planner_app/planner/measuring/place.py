"""Where a measurement really runs: on which GPUs of this machine, or on its CPU within what the machine can spare."""

import os
import platform
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from planner_app.core.hardware.machine import Driver, Gpu, Machine
from planner_app.core.measure.measurable import check_measurable
from planner_app.core.measure.measurement import Order, Place
from planner_app.core.model.setup import Backend, Setup
from planner_app.errors import DeviceError, SetupError
from planner_app.jobs.protocol import GIB

TENSORFLOW_BYTES = 4 * GIB  # the process beside its allocator: TensorFlow, the graph, the profile of a large step
# A pool's first region has 2 MiB, and TensorFlow's own constants go there. With less than a second one each of them
# waits ten seconds for room, in vain.
SMALLEST_LIMIT = 4 << 20
OF_THE_MACHINE = 0.9  # of its memory, for a measurement that names no limit


@dataclass(frozen=True, slots=True)
class Placed:
    """Attributes:
    place: With a limit that does the machine no harm.
    uuids: Of the GPUs; none where the driver does not tell.
    hardware: What it is called.
    """

    place: Place
    uuids: tuple[str, ...]
    hardware: str


def placed(place: Place, setup: Setup, machine: Machine, order: Order = Order.ORDINARY) -> Placed:
    check_measurable(setup, place, order)
    if place.limit_bytes is not None and place.limit_bytes < SMALLEST_LIMIT:
        raise SetupError(
            f"A limit of {place.limit_bytes} bytes is too little for TensorFlow itself: give 4MiB or more."
        )
    if not place.on_gpu:
        if setup.backend is Backend.JAX:
            return Placed(place, (), _cpu_name())
        most = machine_bytes()
        room = None if most is None else max(int(most * OF_THE_MACHINE) - TENSORFLOW_BYTES, most // 2)
        if place.limit_bytes is None and room is not None:
            place = replace(place, limit_bytes=room)
        return Placed(place, (), _cpu_name())
    if len(place.gpus) != setup.gpus:
        raise SetupError(
            f"{place} names {len(place.gpus)} GPUs, the setup wants {setup.gpus}: name as many, or leave --gpus away."
        )
    chosen = [_chosen(machine, index) for index in place.gpus]
    uuids = tuple(gpu.uuid for gpu in chosen if gpu.uuid is not None)
    if len(uuids) < len(chosen):
        uuids = ()
    return Placed(place, uuids, " + ".join(gpu.name or f"GPU {gpu.index}" for gpu in chosen))


def _chosen(machine: Machine, index: int) -> Gpu:
    """A GPU that can be measured on. Of one that is split, programs see a slice: the first."""
    if machine.driver is not Driver.FINE or not machine.gpus:
        raise DeviceError(machine.sentence)
    if index >= len(machine.gpus):
        last = len(machine.gpus) - 1
        raise DeviceError(f"There is no GPU {index}: this machine's are 0 to {last}." if last else _only_one(index))
    gpu = machine.gpus[index]
    if not gpu.usable:
        raise DeviceError(gpu.sentence)
    if gpu.mig and not gpu.slices:
        raise DeviceError(f"GPU {index} is to be split (MIG) but has no slices yet: make one with nvidia-smi mig.")
    return gpu.slices[0] if gpu.mig else gpu


def _only_one(index: int) -> str:
    return f"There is no GPU {index}: this machine has one, gpu:0."


def machine_bytes() -> int | None:
    """The memory of this machine, or of the container we are in; None where nobody says."""
    with suppress(OSError, ValueError, AttributeError):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        with suppress(OSError, ValueError):
            total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
        return total
    return None


def _cpu_name() -> str:
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        return f"CPU ({name})"
    return f"CPU ({platform.machine()})"
