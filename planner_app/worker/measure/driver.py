"""What NVML says of the measured GPUs after each step."""

from __future__ import annotations

import os

from planner_app.core.hardware.machine import Gpu, Machine
from planner_app.core.measure.measurement import GpuUse
from planner_app.errors import DeviceError


class DriverBooks:
    """
    Args:
        devices: What the GPUs are called in the measurement, "GPU:0".
        uuids: Of the GPUs to ask about, in the order of the devices; none where nobody is to be asked.
    """

    def __init__(self, devices: tuple[str, ...], uuids: tuple[str, ...]) -> None:
        self._devices, self._uuids = devices, uuids
        self._energy: dict[str, float | None] = {}

    def look(self) -> tuple[GpuUse, ...]:
        """What NVML says now. A GPU that is gone is the end of the measurement."""
        if not self._uuids:
            return ()
        from planner_app.gpu.nvml import machine_gpus

        machine = machine_gpus()
        return tuple(self._use(number, _found(machine, uuid)) for number, uuid in enumerate(self._uuids))

    def _use(self, number: int, gpu: Gpu) -> GpuUse:
        name = self._devices[number] if number < len(self._devices) else f"GPU:{number}"
        last, now = self._energy.get(name), gpu.energy_joules
        self._energy[name] = now
        spent = None if last is None or now is None else round(now - last, 3)
        return GpuUse(name, gpu.used_bytes, gpu.bytes_of(os.getpid()), spent)


def _found(machine: Machine, uuid: str) -> Gpu:
    everything = [part for gpu in machine.gpus for part in (gpu, *gpu.slices)]
    gpu = next((each for each in everything if each.uuid == uuid), None)
    if gpu is not None and gpu.usable:
        return gpu
    sick = gpu or next((each for each in machine.gpus if not each.usable), None)
    said = sick.sentence if sick is not None else machine.sentence
    raise DeviceError(said or f"The GPU {uuid} is no longer there: see what nvidia-smi says.")
