"""How long a step takes: an estimate from data sheets and from what published trainings reached of them.

    a multiplication   its arithmetic at the share of the peak that such kernels reach, or its bytes at the share of
                       the bandwidth: the longer
    any other kernel   its bytes at that share of the bandwidth
    each of them       and some microseconds to start it
    several GPUs       and what the backward pass does not hide of a ring all-reduce (links.py)

The shares, and how far such estimates were off for GPUs that had no say in them, are in achieved.py. What reads the
data can be slower than all of this.
"""

from dataclasses import dataclass
from enum import StrEnum

from planner_app.core.hardware import achieved
from planner_app.core.hardware.achieved import Units
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.links import ACHIEVED, reduce_seconds, waited_for
from planner_app.core.hardware.work import StepWork
from planner_app.core.model.setup import Precision

TERA = 1e12
TENSOR_CORES, AMPERE = 7, 8
SIXTEEN_BITS = {
    Precision.MIXED_FLOAT16: "float16",
    Precision.FLOAT16: "float16",
    Precision.MIXED_BFLOAT16: "bfloat16",
    Precision.BFLOAT16: "bfloat16",
}


class Source(StrEnum):
    """Where a speed comes from."""

    ROOFLINE = "estimate"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Speed:
    """Of one update: all accumulation steps, on all GPUs.

    Attributes:
        reduce_seconds: The part that is spent waiting for gradients on their way between GPUs.
        at_least: A figure of the device is unknown and a lower one was used: it may be faster.
        slowest: How many times the expected speed it may be, in nine of ten cases at least, and `fastest` at most.
        best_samples_per_second: What the data sheet allows: no GPU has been measured to be faster.
    """

    seconds: float
    samples_per_second: float
    reduce_seconds: float = 0.0
    at_least: bool = False
    source: Source = Source.ROOFLINE
    slowest: float = 1.0
    fastest: float = 1.0
    best_samples_per_second: float = 0.0

    @property
    def low_samples_per_second(self) -> float:
        return self.samples_per_second * self.slowest

    @property
    def high_samples_per_second(self) -> float:
        return self.samples_per_second * self.fastest


@dataclass(frozen=True, slots=True)
class Rate:
    flops_per_second: float
    units: Units = Units.PLAIN
    at_least: bool = False


def rate(device: Device, precision: Precision) -> Rate | None:
    """The peak rate of matrix multiplication; `None` if unknown.

    TensorFlow multiplies float32 as TensorFloat-32 from Ampere on. A card without tensor cores, or without the type,
    computes in float32 whatever the precision.
    """
    if precision is Precision.FLOAT64:
        return None  # the catalogue has no figure for it
    major = device.compute_capability[0] if device.compute_capability else 0
    plain, known = device.tflops.float32, device.tflops
    if precision is Precision.FLOAT32:
        own, expected, units = known.tensorfloat32, major >= AMPERE, Units.TENSORFLOAT
    else:
        own, units = getattr(known, SIXTEEN_BITS[precision]), Units.SIXTEEN
        expected = major >= (AMPERE if SIXTEEN_BITS[precision] == "bfloat16" else TENSOR_CORES)
        if own is None and expected and SIXTEEN_BITS[precision] == "bfloat16":
            own = known.float16  # the same units at the same pace
    if own is not None and expected:
        return Rate(own * TERA, units)
    return None if plain is None else Rate(plain * TERA, at_least=expected and major >= AMPERE)


def speed(
    work: StepWork,
    device: Device,
    precision: Precision,
    *,
    xla: bool,
    batch: int,
    per_gpu_batch: int,
    gpus: int,
    accumulate: int,
) -> Speed | None:
    """`None` if the device's peak, bandwidth or link is unknown."""
    peak, bandwidth = rate(device, precision), device.bandwidth_bytes_per_second
    reducing = reduce_seconds(work.gradient_bytes, device, gpus)
    if peak is None or bandwidth is None or reducing is None:
        return None
    plain = (device.tflops.float32 or 0) * TERA or peak.flops_per_second
    pace = achieved.pace_of(device, peak.flops_per_second, peak.units, plain, bandwidth, xla=xla)
    step = pace.seconds(work.load(per_gpu_batch), work.kernels)
    waiting = waited_for(reducing, step)
    seconds = accumulate * step + waiting
    slowest, fastest = achieved.band(device)
    limit = achieved.limit_of(peak.flops_per_second, peak.units, plain, bandwidth)
    least = accumulate * limit.seconds(work.load(per_gpu_batch), 0)
    least = min(max(least, reducing * ACHIEVED), seconds / fastest)
    return Speed(seconds, batch / seconds, waiting, peak.at_least, Source.ROOFLINE, slowest, fastest, batch / least)
