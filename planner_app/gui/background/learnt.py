"""What measurements have taught, for the estimates that the app shows: read once for each device."""

from collections.abc import Callable

from planner_app.core.hardware.device import Device
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.measure.calibration import Calibration, uncalibrated_limit
from planner_app.core.replay.memory import Memory
from planner_app.files.kept.calibrations import Calibrations

Learnt = Callable[[Memory], Calibration | None]


def nothing(_memory: Memory) -> Calibration | None:
    return None


class Lessons:
    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], Calibration | None] = {}

    def taught(self, device: Device, xla: bool) -> Calibration | None:
        key = (device.name, xla)
        if key not in self._known:
            self._known[key] = Calibrations().find(device.name, xla=xla)
        return self._known[key]

    def find(self, device: Device, memory: Memory) -> Calibration | None:
        return self.taught(device, memory.xla)

    def limit_bytes(self, device: Device, memory: Memory) -> int | None:
        """What the estimate alone may come to, for the calibrated one to fit."""
        limit, learnt = allocator_limit_bytes(device), self.find(device, memory)
        if limit is None or learnt is None:
            return limit
        return uncalibrated_limit(learnt.limit_bytes or limit, learnt)
