"""Looks at the devices around every step: the allocator's books, NVML, the process itself."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from planner_app.core.hardware.machine import Gpu, Machine
from planner_app.core.measure.measurement import GpuUse, Step, StepMemory
from planner_app.errors import DeviceError
from planner_app.jobs.group_memory import resident_bytes
from planner_app.worker.measure.devices import held_back_bytes


class Probe:
    """Measures steps of one process.

    Args:
        devices: As TensorFlow names them: "CPU:0", "GPU:1".
        uuids: Of the GPUs to ask NVML about, in the order of the devices.
        tell: Hears of every step as it ends.
    """

    def __init__(self, devices: tuple[str, ...], uuids: tuple[str, ...], tell: Callable[[Step], None]) -> None:
        self._devices, self._uuids, self._tell = devices, uuids, tell
        self._energy: dict[str, float | None] = {}
        self.steps: list[Step] = []
        self.look()

    def step(self, run: Callable[[], Any]) -> None:
        """Run one, note what it took. Python's own cycles are cleared away first: what is left is held by somebody."""
        before = {device: _info(device)["current"] for device in self._devices}
        for device in self._devices:
            tf.config.experimental.reset_memory_stats(device)
        began = time.perf_counter()
        run()
        seconds = time.perf_counter() - began
        peaks = {device: _info(device)["peak"] for device in self._devices}
        gc.collect()
        memory = tuple(
            StepMemory(device, before[device], peaks[device], _info(device)["current"]) for device in self._devices
        )
        host = resident_bytes(os.getpid()) or None
        done = Step(len(self.steps) + 1, round(seconds, 6), memory, host, self.look())
        self.steps.append(done)
        self._tell(done)

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


def _info(device: str) -> dict[str, int]:
    held = held_back_bytes()
    return {key: size - held for key, size in tf.config.experimental.get_memory_info(device).items()}
