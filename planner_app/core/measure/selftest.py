"""What a self-test found: a fixed set of small models, each estimated, measured and compared."""

from dataclasses import dataclass
from statistics import median

from planner_app.core.measure.compare import Comparison


@dataclass(frozen=True, slots=True)
class Check:
    """One model. `problem` says why there is no comparison."""

    model: str
    about: str
    batch: int
    seconds: float
    comparison: Comparison | None = None
    problem: str = ""

    @property
    def off(self) -> tuple[str, int] | None:
        """The term that is off most, and by how many bytes; above zero, more was estimated."""
        if self.comparison is None or not self.comparison.terms:
            return None
        part = max(self.comparison.terms, key=lambda each: abs(each.difference_bytes))
        return part.name, part.difference_bytes


@dataclass(frozen=True, slots=True)
class SelfTest:
    """Attributes:
    left_out: Models for which there was no time.
    """

    hardware: str
    tensorflow: str
    keras: str
    driver: str | None
    plimsoll: str
    started_at: str
    checks: tuple[Check, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def compared(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.comparison is not None)

    @property
    def median_error(self) -> float | None:
        errors = [abs(check.comparison.error) for check in self.checks if check.comparison is not None]
        return median(errors) if errors else None

    @property
    def in_band(self) -> int:
        return sum(check.comparison.in_band for check in self.checks if check.comparison is not None)

    @property
    def verdict(self) -> str:
        """One sentence for people."""
        compared = self.compared
        if not compared or self.median_error is None:
            return f"Nothing could be measured on {self.hardware}."
        return (
            f"{len(compared)} models on {self.hardware}: estimates are {self.median_error:.1%} off (median), "
            f"{self.in_band} of {len(compared)} measurements lie within the band."
        )
