"""The calibrations that apply to the worker's versions, read once for each device."""

from collections.abc import Mapping

from planner_app.core.hardware.device import Device
from planner_app.core.measure.calibration import Calibration
from planner_app.core.model.setup import Backend
from planner_app.files.kept.calibrations import Calibrations


class CalibrationLookup:
    """What measurements say of a device, for steps compiled by XLA or for others."""

    def __init__(self, versions: Mapping[str, str], *, enabled: bool = True) -> None:
        self.versions, self.enabled = versions, enabled
        self._known: dict[tuple[str, bool, Backend], Calibration | None] = {}

    def __call__(self, device: Device, xla: bool, backend: Backend) -> Calibration | None:
        if not self.enabled:
            return None
        key = (device.name, xla, backend)
        if key not in self._known:
            self._known[key] = Calibrations().find(device.name, xla=xla, versions=self.versions, backend=backend)
        return self._known[key]
