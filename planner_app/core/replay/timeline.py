"""Memory over one training step, allocation by allocation: as measured, or as a replay has it. The same axes for both.

A timeline is long (some ten thousand moments for a ResNet50), so names are kept once and moments are plain numbers.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What memory is for."""

    OUTPUT = "output"
    SCRATCH = "scratch"


@dataclass(frozen=True, slots=True)
class Origin:
    """Who takes memory: an operation, its layer and its phase."""

    operation: str
    layer: str = ""
    phase: str = ""


@dataclass(frozen=True, slots=True)
class Moment:
    """Memory taken (or given back: negative bytes).

    Attributes:
        microseconds: Since the step began; in a replay, the number of the moment.
        requested_bytes: What was asked for; `chunk_bytes` is what was handed out.
        in_use_bytes: All that is handed out afterwards.
    """

    microseconds: int
    origin: int
    requested_bytes: int
    chunk_bytes: int
    in_use_bytes: int
    scratch: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """One steady step of one device (of all replicas, where they share an allocator).

    Attributes:
        start_bytes: In use when the step begins: what stays from step to step.
        moments: In the order in which they happened.
        estimated: From a replay, not from a run.
    """

    device: str
    start_bytes: int
    origins: tuple[Origin, ...]
    moments: tuple[Moment, ...]
    estimated: bool = False

    @property
    def peak(self) -> int:
        """The number of the moment at which most is in use; -1 if that is the beginning."""
        best, at = self.start_bytes, -1
        for number, moment in enumerate(self.moments):
            if moment.in_use_bytes > best:
                best, at = moment.in_use_bytes, number
        return at

    @property
    def peak_bytes(self) -> int:
        return max((moment.in_use_bytes for moment in self.moments), default=self.start_bytes)


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of one origin that are alive at some moment."""

    origin: Origin
    requested_bytes: int
    chunk_bytes: int
    scratch: bool


def held_at(timeline: Timeline, moment: int) -> tuple[Held, ...]:
    """What the step itself has taken and not given back by then, largest first."""
    requested: dict[tuple[int, bool], int] = defaultdict(int)
    chunks: dict[tuple[int, bool], int] = defaultdict(int)
    for each in timeline.moments[: moment + 1]:
        requested[each.origin, each.scratch] += each.requested_bytes
        chunks[each.origin, each.scratch] += each.chunk_bytes
    found = (
        Held(timeline.origins[origin], requested[origin, scratch], size, scratch)
        for (origin, scratch), size in chunks.items()
        if size > 0
    )
    return tuple(sorted(found, key=lambda held: -held.chunk_bytes))


def by_layer(held: tuple[Held, ...]) -> Mapping[str, int]:
    """Requested bytes by layer; what belongs to none is under ""."""
    total: dict[str, int] = defaultdict(int)
    for each in held:
        total[each.origin.layer] += each.requested_bytes
    return dict(total)


def series(timeline: Timeline) -> Iterator[tuple[float, int]]:
    """(share of the step, bytes in use): the curve of the chart, whatever the clock of either source was."""
    last = timeline.moments[-1].microseconds if timeline.moments else 0
    yield 0.0, timeline.start_bytes
    for moment in timeline.moments:
        yield (moment.microseconds / last if last else 1.0), moment.in_use_bytes
