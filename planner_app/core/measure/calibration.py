"""Calibrates estimates with measurements, for one kind of device and one set of versions.

The ratio of measured to estimated bytes of some models is expected of the next one too. The band narrows to where the
next ratio is expected (Student's prediction interval), but never so far that a measurement lies outside.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf, sqrt
from statistics import median, stdev

from planner_app.core.estimate.level import Level
from planner_app.core.measure.leak import student_t
from planner_app.core.measure.measurement import backend_text


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement and its estimate.

    Attributes:
        setup: In words, for display.
        measured_bytes: The peak of each process.
        outside_bytes: What the process had on the GPU outside the allocator's pool; None if unknown.
        limit_bytes: What the allocator may take, as it reports, unless the user set a limit.
    """

    model: str
    model_sha256: str
    setup: str
    measured_at: str
    estimated_bytes: int
    measured_bytes: tuple[int, ...]
    outside_bytes: int | None = None
    limit_bytes: int | None = None

    @property
    def ratio(self) -> float:
        return median(self.measured_bytes) / self.estimated_bytes

    @property
    def point(self) -> tuple[str, str]:
        """A new measurement of the same point replaces the old one."""
        return self.model_sha256 or self.model, self.setup


@dataclass(frozen=True, slots=True)
class Calibration:
    """All measurements on one kind of device with one set of versions.

    Attributes:
        device: As the catalogue calls it, or "cpu".
        xla: For steps compiled by XLA, which allocate memory differently.
        jax: The version of JAX, if that trained; there is none of TensorFlow then.
    """

    device: str
    tensorflow: str
    keras: str
    xla: bool
    samples: tuple[Sample, ...]
    driver: str | None = None
    jax: str = ""

    @property
    def title(self) -> str:
        """For display: the device and the versions."""
        jit = ", compiled by XLA" if self.xla and not self.jax else ""
        return f"{self.device}, {backend_text(self.tensorflow, self.jax)}, Keras {self.keras}{jit}"

    @property
    def date(self) -> str:
        return max(sample.measured_at for sample in self.samples)[:10]

    @property
    def ratio(self) -> float:
        return median(sample.ratio for sample in self.samples)

    @property
    def outside_bytes(self) -> int | None:
        return _middle(sample.outside_bytes for sample in self.samples)

    @property
    def limit_bytes(self) -> int | None:
        return _middle(sample.limit_bytes for sample in self.samples)

    @property
    def reach(self) -> float:
        """How far from the middle the next ratio may lie, with 95 % confidence; unknown from one measurement."""
        ratios = [sample.ratio for sample in self.samples]
        count = len(ratios)
        if count < 2:
            return inf
        return student_t(count - 1) * stdev(ratios) * sqrt(1 + 1 / count)

    @property
    def seen(self) -> tuple[float, float]:
        """The lowest and the highest ratio of any process."""
        ratios = [size / sample.estimated_bytes for sample in self.samples for size in sample.measured_bytes]
        return min(ratios), max(ratios)

    def with_sample(self, sample: Sample) -> "Calibration":
        others = tuple(each for each in self.samples if each.point != sample.point)
        return replace(self, samples=(*others, sample))


def calibrated_level(level: Level, calibration: Calibration) -> Level:
    """Moves the expected peak and narrows the band to what was measured and is to be expected; never widens it."""
    ratio, reach = calibration.ratio, calibration.reach
    lowest, highest = calibration.seen
    low = max(level.low_bytes * ratio, level.peak_bytes * (ratio - reach))
    high = min(level.high_bytes * ratio, level.peak_bytes * (ratio + reach))
    return Level(
        peak_bytes=round(level.peak_bytes * ratio),
        low_bytes=round(min(low, level.peak_bytes * lowest)),
        high_bytes=round(max(high, level.peak_bytes * highest)),
    )


def sentence(calibration: Calibration) -> str:
    count = len(calibration.samples)
    many = f"{count} measurements" if count > 1 else "one measurement"
    return (
        f"Calibrated with {many} on {calibration.device}, the last of {calibration.date}: "
        f"{calibration.ratio - 1:+.1%} against the estimate alone."
    )


def _middle(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return int(median(known)) if known else None
