"""How long a step takes, at best: an estimate from data sheets, not a measurement.

    a multiplication   its arithmetic at the device's dense peak, or its bytes at what the memory moves: the longer
    any other kernel   its bytes at what the memory moves
    all of them        or the time the host needs to start them, if that is longer
    several GPUs       and a ring all-reduce of the gradients over the link between them

Checked with NVIDIA's own figures for ResNet-50 with XLA (DeepLearningExamples, TensorFlow 20.06; V100 and A100, float32
and mixed precision, 1 to 16 GPUs) it is within a tenth for most and 40 % above for the A100 in TensorFloat-32;
tests/benchmarks/shop.py shows each. What reads the data can be slower than all of this.
"""

from dataclasses import dataclass
from enum import StrEnum

from planner_app.core.hardware.device import Device, Segment
from planner_app.core.hardware.work import StepWork
from planner_app.core.model.setup import Precision

TERA = 1e12
# No kernel reaches all of the bandwidth on the data sheet. How much, no source says for all of them: this share was
# chosen by NVIDIA's figures. With all of the bandwidth, five of six speeds of one GPU came out above what it measured.
ATTAINED_BANDWIDTH = 0.9
# A kernel takes the host some microseconds to start, however small it is. Chosen: 8 were seen for an addition through
# PyTorch's dispatcher on an A100 (Torch-FL's pull request 27), which goes through Python.
LAUNCH_SECONDS = 5e-6
# Bytes a second and lane in one direction, by generation, after encoding (128 bits in 130; 242 in 256 for 6.0).
PCIE_LANE = {"3.0": 0.985e9, "4.0": 1.969e9, "5.0": 3.938e9, "6.0": 7.563e9}
# GeForce drivers allow no peer access: what one card sends is written to the host's memory and read from there.
THROUGH_HOST = 0.5
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
        reduce_seconds: The part that gradients take on their way between GPUs.
        at_least: A figure of the device is unknown and a lower one was used: it may be faster.
    """

    seconds: float
    samples_per_second: float
    reduce_seconds: float = 0.0
    at_least: bool = False
    source: Source = Source.ROOFLINE


@dataclass(frozen=True, slots=True)
class Rate:
    flops_per_second: float
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
        own, expected = known.tensorfloat32, major >= AMPERE
    else:
        own = getattr(known, SIXTEEN_BITS[precision])
        expected = major >= (AMPERE if SIXTEEN_BITS[precision] == "bfloat16" else TENSOR_CORES)
        if own is None and expected and SIXTEEN_BITS[precision] == "bfloat16":
            own = known.float16  # the same units at the same pace
    if own is not None and expected:
        return Rate(own * TERA)
    return None if plain is None else Rate(plain * TERA, at_least=expected and major >= AMPERE)


def link_bytes_per_second(device: Device, gpus: int) -> float | None:
    """What one GPU can send to the next in a ring, in one direction; `None` if unknown."""
    link = device.nvlink
    if link is not None and link.bytes_per_second is not None and (gpus <= 2 or not link.bridge):
        return link.bytes_per_second / 2  # counted in both directions together
    if device.pcie is None:
        return None
    generation, _, lanes = device.pcie.partition(" x")
    if generation not in PCIE_LANE or not lanes.isdecimal():
        return None
    direct = device.segment is not Segment.CONSUMER
    return PCIE_LANE[generation] * int(lanes) * (1.0 if direct else THROUGH_HOST)


def reduce_seconds(gradient_bytes: int, device: Device, gpus: int) -> float | None:
    """A ring sends every gradient around twice, minus one GPU's share. Keras waits for it without other work."""
    if gpus == 1:
        return 0.0
    pace = link_bytes_per_second(device, gpus)
    return None if pace is None else 2 * (gpus - 1) / gpus * gradient_bytes / pace


def step_seconds(work: StepWork, batch: int, flops_per_second: float, bytes_per_second: float) -> float:
    """One step of one GPU on `batch` samples."""
    busy = work.moved.at(batch) / bytes_per_second
    for kind in work.multiplications:
        busy += kind.count * max(kind.flops.at(batch) / flops_per_second, kind.moved.at(batch) / bytes_per_second)
    return max(busy, work.kernels * LAUNCH_SECONDS)


def speed(
    work: StepWork, device: Device, precision: Precision, *, batch: int, per_gpu_batch: int, gpus: int, accumulate: int
) -> Speed | None:
    """`None` if the device's peak, bandwidth or link is unknown."""
    peak, bandwidth = rate(device, precision), device.bandwidth_bytes_per_second
    reducing = reduce_seconds(work.gradient_bytes, device, gpus)
    if peak is None or bandwidth is None or reducing is None:
        return None
    attained = bandwidth * ATTAINED_BANDWIDTH
    seconds = accumulate * step_seconds(work, per_gpu_batch, peak.flops_per_second, attained) + reducing
    return Speed(seconds, batch / seconds, reducing, peak.at_least)
