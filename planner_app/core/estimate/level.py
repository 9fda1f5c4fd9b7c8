"""Memory of one GPU at one batch."""

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """Where a figure comes from."""

    ESTIMATE = "estimate"
    LINE = "compiler line"  # between batches that were compiled
    COMPILER = "compiler"  # compiled at this very batch


FROM = {
    Source.ESTIMATE: "fusion-aware estimate",
    Source.LINE: "on the compiler's line",
    Source.COMPILER: "the compiler's own figure",
}


@dataclass(frozen=True, slots=True)
class Level:
    """In use at the peak: `peak_bytes` is expected, `low_bytes` to `high_bytes` is the band."""

    peak_bytes: int
    low_bytes: int
    high_bytes: int
    source: Source = Source.ESTIMATE


def between(left: Source, right: Source) -> Source:
    """Of a figure on the line between two others."""
    return Source.ESTIMATE if Source.ESTIMATE in (left, right) else Source.LINE
