"""A case measured and estimated, and what all of them come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from cases import Case
from estimates import Estimated
from runs import Inline


@dataclass(frozen=True, slots=True)
class Compared:
    """Errors are parts of the measured figure: 0.01 is one percent too much.

    Attributes:
        inline: One measurement for each process with kernels one after the other.
        ordinary: For each ordinary process the peak of each step.
        digest: What the measurements were made of: the model, the libraries, and the way of measuring.
    """

    case: Case
    estimated: Estimated
    inline: tuple[Inline, ...]
    ordinary: tuple[tuple[int, ...], ...] = ()
    digest: str = ""

    @property
    def live_bytes(self) -> int:
        """The same in every process."""
        return _middle(run.live_bytes for run in self.inline)

    @property
    def in_use_bytes(self) -> int:
        """Nearly the same in every process: where the allocator's regions come to lie decides between equal chunks."""
        return _middle(run.in_use_bytes for run in self.inline)

    @property
    def ordinary_bytes(self) -> int:
        return max((peak for steps in self.ordinary for peak in steps), default=0)

    @property
    def live_error(self) -> float:
        return self.estimated.live_bytes / self.live_bytes - 1

    @property
    def in_use_error(self) -> float:
        return self.estimated.peak_bytes / self.in_use_bytes - 1

    @property
    def in_band(self) -> bool:
        return self.estimated.low_bytes <= self.in_use_bytes <= self.estimated.high_bytes

    @property
    def stayed_below(self) -> bool:
        """No step of an ordinary process took more than the estimate's upper bound."""
        return self.ordinary_bytes <= self.estimated.high_bytes

    @property
    def band_width(self) -> float:
        return (self.estimated.high_bytes - self.estimated.low_bytes) / self.estimated.peak_bytes


@dataclass(frozen=True, slots=True)
class Summary:
    cases: int
    live_median: float
    live_worst: float
    in_use_median: float
    in_use_worst: float
    in_band: int
    ordinary_cases: int
    ordinary_processes: int
    most_processes: int
    ordinary_below: int
    band_median: float
    seconds_median: float


def summary(compared: Sequence[Compared]) -> Summary:
    ordinary = [one for one in compared if one.ordinary]
    return Summary(
        cases=len(compared),
        live_median=median(abs(one.live_error) for one in compared),
        live_worst=max(abs(one.live_error) for one in compared),
        in_use_median=median(abs(one.in_use_error) for one in compared),
        in_use_worst=max(abs(one.in_use_error) for one in compared),
        in_band=sum(one.in_band for one in compared),
        ordinary_cases=len(ordinary),
        ordinary_processes=min((len(one.ordinary) for one in ordinary), default=0),
        most_processes=max((len(one.ordinary) for one in ordinary), default=0),
        ordinary_below=sum(one.stayed_below for one in ordinary),
        band_median=median(one.band_width for one in compared),
        seconds_median=median(one.estimated.seconds for one in compared),
    )


def _middle(values: Iterable[int]) -> int:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]
