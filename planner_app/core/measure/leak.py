"""Does memory grow from step to step? Fits a line through the bytes in use after each step."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import inf, sqrt

from planner_app.core.measure.measurement import Run, after_each

WARM_UP = 2  # entries: constants are folded and caches filled in the first ones
FEWEST = 5  # entries after the warm-up that a line needs
# Student's t for 95 % on both sides, by degrees of freedom; from 30 on within 2 % of the normal distribution's 1.96.
_T = tuple(
    float(text)
    for text in (
        "12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131 "
        "2.120 2.110 2.101 2.093 2.086 2.080 2.074 2.069 2.064 2.060 2.056 2.052 2.048 2.045 2.042"
    ).split()
)


class Verdict(StrEnum):
    STEADY = "steady"
    GROWING = "growing"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Leak:
    """Attributes:
    bytes_per_step: The slope; `low_bytes` to `high_bytes` is where it lies with 95 % confidence.
    total_bytes: The growth from the first counted entry to the last.
    """

    verdict: Verdict
    bytes_per_step: float
    low_bytes: float
    high_bytes: float
    total_bytes: int


def leak(after_bytes: Sequence[int]) -> Leak:
    """Growing: the slope is significantly above zero, and the whole last third lies above the whole first third.

    A single step up (a buffer made once, a pool that found its size) has a slope, but is not a leak. Nor are varying
    chunks: variables that are copied when written get sometimes a larger and sometimes a smaller one.
    """
    values = list(after_bytes)[WARM_UP:]
    if len(values) < FEWEST:
        return Leak(Verdict.UNCLEAR, 0.0, -inf, inf, values[-1] - values[0] if values else 0)
    slope, error = _slope(values)
    reach = error * student_t(len(values) - 2)
    total = values[-1] - values[0]
    rises = slope - reach > 0 and _goes_on(values)
    growing = rises and _stands_above(values)
    unclear = rises and not growing
    verdict = Verdict.GROWING if growing else Verdict.UNCLEAR if unclear else Verdict.STEADY
    return Leak(verdict, slope, slope - reach, slope + reach, total)


def student_t(degrees: int) -> float:
    """The bound that contains 95 % of Student's distribution."""
    return _T[degrees - 1] if degrees <= len(_T) else 1.96


def _slope(values: Sequence[int]) -> tuple[float, float]:
    """Of the least-squares line through the values, and its standard error."""
    count = len(values)
    middle, mean = (count - 1) / 2, sum(values) / count
    spread = sum((n - middle) ** 2 for n in range(count))
    slope = sum((n - middle) * (value - mean) for n, value in enumerate(values)) / spread
    left = sum((value - mean - slope * (n - middle)) ** 2 for n, value in enumerate(values))
    return slope, sqrt(left / (count - 2) / spread)


def _goes_on(values: Sequence[int]) -> bool:
    """Each third of the time ends higher than the one before."""
    third = max(1, len(values) // 3)
    ends = [values[0], values[third], values[2 * third], values[-1]]
    return all(later > sooner for sooner, later in pairwise(ends))


def _stands_above(values: Sequence[int]) -> bool:
    third = max(1, len(values) // 3)
    return min(values[-third:]) > max(values[:third])


def leaks_of(run: Run) -> dict[str, Leak]:
    """By device, from what is in use after each of a process' steps or fits.

    Chunks may grow: a variable that is written may keep a larger chunk than it needs. If no requested bytes are kept,
    that is not a leak.
    """
    found = {device: leak(after_each(run.steps, device)) for device in run.devices}
    if run.kept_bytes is None or run.kept_bytes > 0:
        return found
    return {device: replace(each, verdict=Verdict.STEADY) for device, each in found.items()}


def worst_leak(runs: Sequence[Run]) -> Leak | None:
    """The one to show: growing before unclear before steady, then the steepest. None if no line can be fitted."""
    found = [each for run in runs for each in leaks_of(run).values() if each.low_bytes > -inf]
    order = (Verdict.STEADY, Verdict.UNCLEAR, Verdict.GROWING)
    return max(found, key=lambda each: (order.index(each.verdict), each.bytes_per_step), default=None)
