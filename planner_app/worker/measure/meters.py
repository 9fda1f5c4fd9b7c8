"""Looks at the devices around every step: the allocator's books, NVML, the process itself."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from planner_app.core.measure.measurement import Step, StepMemory
from planner_app.jobs.usage.group_memory import resident_bytes
from planner_app.worker.measure.devices import held_back_bytes
from planner_app.worker.measure.driver import DriverBooks


class Probe:
    """Measures steps of one process.

    Args:
        devices: As TensorFlow names them: "CPU:0", "GPU:1".
        uuids: Of the GPUs to ask NVML about, in the order of the devices.
        tell: Hears of every step as it ends.
    """

    def __init__(self, devices: tuple[str, ...], uuids: tuple[str, ...], tell: Callable[[Step], None]) -> None:
        self._devices, self._tell = devices, tell
        self._driver = DriverBooks(devices, uuids)
        self.steps: list[Step] = []
        self._driver.look()

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
        done = Step(len(self.steps) + 1, round(seconds, 6), memory, host, self._driver.look())
        self.steps.append(done)
        self._tell(done)


def _info(device: str) -> dict[str, int]:
    held = held_back_bytes()
    return {key: size - held for key, size in tf.config.experimental.get_memory_info(device).items()}
