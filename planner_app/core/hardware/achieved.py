"""How much of a data sheet's figures real training reaches: shares fitted to speeds that others have published.

`make speeds` fits them anew (tests/speeds: figures, sources, and what each GPU would be told if it had none) and
shows how far off the estimates are. A GPU's share is the usual one for the kind of kernel and arithmetic, times that
of its generation where figures of it are known.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from math import inf

import numpy as np

from planner_app.core.hardware.device import Device
from planner_app.core.hardware.work import Figures, Load

Capability = tuple[int, int]
NO_CAPABILITY: Capability = (0, 0)  # of a device that nothing is known of


class Units(StrEnum):
    """What multiplies: ordinary units, or tensor cores."""

    PLAIN = "float32"
    TENSORFLOAT = "tensorfloat32"
    SIXTEEN = "16 bits"


# Convolutions of 3 x 3 in float32 take fewer multiplications than counted (Winograd), so a share can exceed 1.
CONVOLUTION = {Units.PLAIN: 0.771, Units.TENSORFLOAT: 0.602, Units.SIXTEEN: 0.481}
MATRIX = {Units.PLAIN: 0.794, Units.TENSORFLOAT: 1.273, Units.SIXTEEN: 0.617}
DEPTHWISE = 0.068
MEMORY = {True: 0.904, False: 0.837}  # by whether XLA compiles the step
KERNEL_SECONDS = {True: 7.98e-6, False: 4.01e-6}
# Tensor cores of large GPUs are harder to keep busy: the share falls with the peak, from that of a typical one on.
TYPICAL_FLOPS, FALLING = 50e12, 0.406
# A convolution that does more with each number it reads or writes comes nearer to the peak.
USUAL_INTENSITY, LEAST_INTENSITY, MOST_INTENSITY = 500.0, -4.0, 1.5
RISING = {Units.PLAIN: 0.498, Units.TENSORFLOAT: 0.111, Units.SIXTEEN: 0.111}
WIDE = {Units.PLAIN: 4, Units.TENSORFLOAT: 4, Units.SIXTEEN: 2}  # bytes of a number
# By compute capability: how many times the usual share.
ARITHMETIC_OF: dict[Capability, dict[Units, float]] = {
    (6, 0): {Units.PLAIN: 0.958},
    (6, 1): {Units.PLAIN: 0.880},
    (7, 0): {Units.PLAIN: 0.999, Units.SIXTEEN: 1.173},
    (7, 5): {Units.PLAIN: 1.176, Units.SIXTEEN: 0.920},
    (8, 0): {Units.TENSORFLOAT: 0.820, Units.SIXTEEN: 1.844},
    (8, 6): {Units.TENSORFLOAT: 0.905, Units.SIXTEEN: 1.825},
    (8, 9): {Units.TENSORFLOAT: 0.957, Units.SIXTEEN: 2.809},
}
MEMORY_OF: dict[Capability, float] = {
    (6, 0): 1.006,
    (6, 1): 1.146,
    (7, 0): 1.122,
    (7, 5): 1.107,
    (8, 0): 1.073,
    (8, 6): 1.168,
    (8, 9): 1.199,
}
# What each generation descends from: one without figures is taken to reach what its nearest ancestor with figures does.
FROM: dict[Capability, Capability] = {
    (6, 1): (6, 0),
    (7, 0): (6, 0),
    (7, 5): (7, 0),
    (8, 0): (7, 0),
    (8, 6): (8, 0),
    (8, 7): (8, 6),
    (8, 9): (8, 6),
    (9, 0): (8, 0),
    (10, 0): (9, 0),
    (10, 3): (10, 0),
    (11, 0): (10, 0),
    (12, 0): (8, 9),
    (12, 1): (12, 0),
}
# At best: 3 x 3 convolutions take 4 multiplications where 9 are counted, clocks rise above the rated ones, and caches
# save some of the traffic. No published figure is faster than all of that together.
WINOGRAD, ABOVE_RATED, CACHED = 2.25, 1.1, 1.25
# How many times the expected speed was measured, in nine of ten published figures of GPUs that had no say in the
# shares, and at most.
SLOWEST, FASTEST = 0.56, 1.45
# The same for GPUs of generations without any figure, judged by their ancestors'. Generations that are left out as a
# whole were measured to reach 0.55 to 1.37 times what they would have been told; new ones are further off.
SLOWEST_UNSEEN, FASTEST_UNSEEN = 0.5, 1.7


@dataclass(frozen=True, slots=True)
class Pace:
    """What a GPU does in a second: arithmetic by kind of kernel, and bytes.

    Attributes:
        convolution: Of the usual intensity; more intense ones are faster, up to the most.
    """

    convolution: float
    matrix: float
    depthwise: float
    bytes_per_second: float
    kernel_seconds: float
    rising: float
    wide: int
    most_convolution: float = inf

    def seconds(self, load: Load, kernels: int) -> float:
        """One step of one GPU."""
        convolving = np.minimum(self.convolution * _raised(load, self.rising, self.wide), self.most_convolution)
        pace = np.where(load.convolves, convolving, self.matrix)
        pace = np.where(load.depthwise, self.depthwise, pace)
        longer = np.maximum(load.flops / pace, load.moved / self.bytes_per_second)
        busy = load.rest_bytes / self.bytes_per_second + float((load.count * longer).sum())
        return busy + kernels * self.kernel_seconds


def _raised(load: Load, rising: float, wide: int) -> Figures:
    """How many times as fast as usual each convolution is, by its intensity: worked out once for many devices."""
    if (rising, wide) not in load.raised:
        intensity = np.log(np.maximum(load.intensity * wide, 1e-9) / USUAL_INTENSITY)
        load.raised[rising, wide] = np.exp(rising * np.clip(intensity, LEAST_INTENSITY, MOST_INTENSITY))
    return load.raised[rising, wide]


def pace_of(device: Device, peak: float, units: Units, plain: float, bandwidth: float, *, xla: bool) -> Pace:
    """`plain` is the rate of the ordinary units, for what tensor cores can't do."""
    like, limit = seen_or_ancestor(device), limit_of(peak, units, plain, bandwidth)
    larger = 1.0 if units is Units.PLAIN else (peak / TYPICAL_FLOPS) ** -FALLING
    own = ARITHMETIC_OF.get(like, {}).get(units, 1.0) * larger
    return Pace(
        convolution=CONVOLUTION[units] * own * peak,
        matrix=min(MATRIX[units] * own * peak, limit.matrix),
        depthwise=min(DEPTHWISE * own * plain, limit.depthwise),
        bytes_per_second=bandwidth * min(MEMORY[xla] * MEMORY_OF.get(like, 1.0), 1.0),
        kernel_seconds=KERNEL_SECONDS[xla],
        rising=RISING[units],
        wide=WIDE[units],
        most_convolution=limit.convolution,
    )


def seen_or_ancestor(device: Device) -> Capability:
    """The generation whose figures tell most of the device: its own where it has some."""
    capability = device.compute_capability
    return capability if capability in ARITHMETIC_OF else descent(capability) or NO_CAPABILITY


def descent(capability: Capability | None, known: Collection[Capability] = ARITHMETIC_OF.keys()) -> Capability | None:
    """The nearest ancestor of a generation that is among those known; None if there is none."""
    while capability is not None and (capability := FROM.get(capability)) is not None and capability not in known:
        pass
    return capability


def limit_of(peak: float, units: Units, plain: float, bandwidth: float) -> Pace:
    """What nothing is known to exceed: the data sheet's figures, and a little more."""
    convolution = WINOGRAD if units is Units.PLAIN else 1.0
    return Pace(
        convolution=convolution * peak * ABOVE_RATED,
        matrix=peak * ABOVE_RATED,
        depthwise=plain * ABOVE_RATED,
        bytes_per_second=bandwidth * CACHED,
        kernel_seconds=0.0,
        rising=0.0,
        wide=WIDE[units],
    )


def band(device: Device) -> tuple[float, float]:
    """How many times the expected speed it may be, at least and at best."""
    seen = device.compute_capability in ARITHMETIC_OF
    return (SLOWEST, FASTEST) if seen else (SLOWEST_UNSEEN, FASTEST_UNSEEN)
