"""The largest batch of a setup on a device: counting tight, and only what is sure to fit."""

from dataclasses import dataclass

from planner_app.core.estimate.curve import LargestBatch
from planner_app.core.estimate.level import Level
from planner_app.core.estimate.need import Need
from planner_app.core.measure.calibration import sentence
from planner_app.core.model.setup import Setup
from planner_app.errors import DeviceError


@dataclass(frozen=True, slots=True)
class Largest:
    """Attributes:
    setup: How to train; its batch is ignored.
    counting_tight: Per GPU: the expected peak is within the capacity.
    sure: Per GPU: the high end of the band is within the capacity.
    level: At the largest batch counting tight; at one sample if nothing fits.
    """

    setup: Setup
    device: str
    xla: bool
    capacity_bytes: int
    counting_tight: LargestBatch
    sure: LargestBatch
    level: Level
    calibrated: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def share(self) -> int:
        return self.setup.shares

    @property
    def batch(self) -> int:
        """Global, counting tight; 0 if not even one sample per GPU fits."""
        return self.counting_tight.batch * self.share

    @property
    def sure_batch(self) -> int:
        return self.sure.batch * self.share


def largest(need: Need, setup: Setup) -> Largest:
    """
    Raises:
        DeviceError: Nothing limits the device.
    """
    capacity, counting_tight, sure = need.capacity_bytes, need.largest(), need.largest(sure=True)
    if capacity is None or counting_tight is None or sure is None:
        raise DeviceError(
            "The CPU has no memory limit of its own: set one with --limit 8GiB, or name a GPU with --device."
        )
    return Largest(
        setup=setup,
        device=need.device.name,
        xla=need.memory.xla,
        capacity_bytes=capacity,
        counting_tight=counting_tight,
        sure=sure,
        level=need.level(max(counting_tight.batch, 1)),
        calibrated="" if need.calibration is None else sentence(need.calibration),
        warnings=(need.line.trouble,) if need.line.trouble else (),
    )
