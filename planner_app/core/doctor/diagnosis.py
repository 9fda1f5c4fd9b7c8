"""What the doctor says: one frozen value, with the lines it rests on."""

from dataclasses import dataclass
from enum import StrEnum

from planner_app.core.doctor.seen import Evidence


class Kind(StrEnum):
    """What happened."""

    NONE = "no out-of-memory report"
    HARMLESS = "warnings only"
    SHORTAGE = "not enough memory"
    TOO_LARGE = "one tensor larger than the whole memory"
    FRAGMENTED = "fragmentation"
    LEAK = "memory that grows from step to step"
    OTHER_PROCESS = "memory taken by another process"
    LIBRARIES = "no memory left for CUDA libraries"
    COPIED_ARRAY = "a whole array copied to the GPU"
    XLA = "a program of XLA that does not fit"
    HOST = "the machine's own memory"

    @property
    def failed(self) -> bool:
        return self not in (Kind.NONE, Kind.HARMLESS)


NO_REPORT = "This log holds no out-of-memory report."


@dataclass(frozen=True, slots=True)
class Finding:
    """Something the log says beside the verdict: a sentence, and the lines it rests on."""

    text: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Holder:
    """What was in memory, where the log tells: an operation or a size, and all its bytes."""

    name: str
    size_bytes: int
    count: int = 1
    layer: str = ""


@dataclass(frozen=True, slots=True)
class Other:
    """Another failure in the same log."""

    line: int
    device: str
    requested_bytes: int | None
    operation: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a log says about memory that ran out. Unknown is None or empty, never a guess.

    Attributes:
        verdict: One sentence.
        why: Sentences that lead to it.
        remedies: What to do, the cheapest first; `plimsoll advise` works out those that concern the model.
        evidence: The lines of the log that the verdict rests on.
        device: "GPU:1", "CPU:0" or "host".
        device_name: As the log tells it: "Tesla T4".
        exact: `requested_bytes` is to the byte; else it was written in human units.
        limit_bytes: What the allocator may take; `in_use_bytes` what it had given out, `free_bytes` the rest of it.
        largest_free_bytes: The largest piece that it could still have given out.
        layer: Of the operation that failed; which phase of the step it is in, and what kind of memory it wanted.
        during: "validation" or "prediction" where a traceback shows that it was no training step.
        in_first_step: It failed before the first step had ended; None where the log does not tell.
        others: More failures, in the order of the log; `more` counts those that are not listed.
    """

    kind: Kind
    verdict: str
    why: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    device: str = ""
    device_name: str = ""
    allocator: str = ""
    requested_bytes: int | None = None
    exact: bool = False
    limit_bytes: int | None = None
    in_use_bytes: int | None = None
    free_bytes: int | None = None
    largest_free_bytes: int | None = None
    peak_bytes: int | None = None
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    operation: str = ""
    layer: str = ""
    phase: str = ""
    term: str = ""
    kernel: str = ""
    during: str = ""
    in_first_step: bool | None = None
    steps: int = 0
    holders: tuple[Holder, ...] = ()
    notes: tuple[Finding, ...] = ()
    others: tuple[Other, ...] = ()
    more: int = 0
