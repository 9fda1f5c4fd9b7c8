"""Memory of one GPU at one batch."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """In use at the peak: `peak_bytes` is expected, `low_bytes` to `high_bytes` is the band."""

    peak_bytes: int
    low_bytes: int
    high_bytes: int
