"""The calibrated memory that a step needs and the capacity of a device. The one place that answers "does it fit?" and
"what is the largest batch?".

    need = needs.of(Setup(batch=64), device)
    need.verdict(64), need.largest(), need.largest(sure=True)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planner_app.core.compile.anchoring import settled
from planner_app.core.compile.line import NO_LINE, Line
from planner_app.core.estimate.curve import LargestBatch, largest_on_lines, largest_within, on_line, rounded
from planner_app.core.estimate.level import Level, Source
from planner_app.core.estimate.verdict import Verdict, judge
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.runtime import allocator_limit_bytes, outside_bytes
from planner_app.core.measure.calibration import Calibration, calibrated_level
from planner_app.core.model.setup import Backend, Setup, StepSetup
from planner_app.core.replay.memory import Memory, Point

# The calibration of a device, for steps compiled by XLA or for others; None if nothing was measured.
FindCalibration = Callable[[Device, bool, Backend], Calibration | None]


# The compiler's figures for a setup on a device; an empty line if it was not run.
FindLine = Callable[[Setup, Device], Line]


def uncalibrated(_device: Device, _xla: bool, _backend: Backend) -> Calibration | None:
    return None


def not_compiled(_setup: Setup, _device: Device) -> Line:
    return NO_LINE


def level_at(point: Point) -> Level:
    return Level(point.in_use_bytes, point.low_bytes, point.high_bytes)


@dataclass(frozen=True, slots=True)
class Need:
    """Memory that one GPU needs for a step over its batch, compared with a device.

    Attributes:
        calibration: From measurements on this device; every figure here is calibrated with it.
        limit_bytes: The most the allocator may take, if the user sets a limit.
        line: The compiler's figures for a step compiled by XLA, which replace the estimate's.
    """

    memory: Memory
    device: Device
    calibration: Calibration | None = None
    limit_bytes: int | None = None
    line: Line = NO_LINE

    @property
    def capacity_bytes(self) -> int | None:
        """What the allocator may take; None without a limit."""
        capacity = allocator_limit_bytes(self.device)
        if capacity is not None and self.calibration is not None and self.calibration.limit_bytes is not None:
            capacity = self.calibration.limit_bytes
        if self.limit_bytes is None:
            return capacity
        return self.limit_bytes if capacity is None else min(capacity, self.limit_bytes)

    def level(self, batch: int) -> Level:
        """At one per-GPU batch: the compiler's figure if there is one, else replayed and calibrated."""
        level = self.line.level(batch, self.estimated)
        if level.source is not Source.ESTIMATE or self.calibration is None:
            return level
        return calibrated_level(self.estimated(batch), self.calibration)

    def estimated(self, batch: int) -> Level:
        """Replayed only, without calibration or compiler."""
        return level_at(self.memory.point(batch))

    def level_on_line(self, batch: int) -> Level:
        """At any per-GPU batch, from anchors only: for charts and long lists."""
        return self.level(batch) if self.line.anchor(batch) is not None else on_line(self.level, batch)

    def outside_bytes(self, gpus: int) -> int:
        """On the device, outside the allocator's memory."""
        if self.calibration is not None and self.calibration.outside_bytes is not None:
            return self.calibration.outside_bytes
        return outside_bytes(self.device, gpus).expected_bytes

    def verdict(self, batch: int) -> Verdict | None:
        """None without a capacity."""
        capacity = self.capacity_bytes
        return None if capacity is None else judge(self.level(batch), capacity)

    def largest(self, *, sure: bool = False) -> LargestBatch | None:
        """The largest per-GPU batch; `sure` does not count tight. None without a capacity."""
        capacity = self.capacity_bytes
        if capacity is None:
            return None
        compiled = settled(self.line, capacity)
        if compiled.confirmed and not sure:
            return rounded(compiled.batch)
        return largest_within(self.level, capacity, sure=sure)

    def largest_on_lines(self, *, sure: bool = False) -> int | None:
        capacity = self.capacity_bytes
        return None if capacity is None else largest_on_lines(self.level, capacity, sure=sure)


@dataclass(frozen=True, slots=True)
class Needs:
    """The traced steps, with their calibrations and compiler figures."""

    memories: Mapping[StepSetup, Memory]
    calibration: FindCalibration = uncalibrated
    line: FindLine = not_compiled

    def of(self, setup: Setup, device: Device, limit_bytes: int | None = None) -> Need:
        """
        Raises:
            KeyError: The setup's step is not traced for this device.
        """
        memory = self.memories[setup.step(device.target)]
        line = self.line(setup, device) if memory.xla else NO_LINE
        return Need(memory, device, self.calibration(device, memory.xla, setup.backend), limit_bytes, line)

    def has(self, setup: Setup, device: Device) -> bool:
        return setup.step(device.target) in self.memories
