"""What the doctor says: one frozen value, with the lines it rests on."""

from dataclasses import dataclass
from enum import StrEnum

from planner_app.core.doctor.log.seen import Evidence


class Kind(StrEnum):
    """What happened."""

    NONE = "no out-of-memory report"
    HARMLESS = "warnings only"
    OTHER_ERROR = "an error that is not about memory"
    SHORTAGE = "not enough memory"
    TOO_LARGE = "one tensor larger than the whole memory"
    FRAGMENTED = "fragmentation"
    LEAK = "memory that grows from step to step"
    OTHER_PROCESS = "memory taken by another process"
    LIBRARIES = "no memory left for CUDA libraries"
    COPIED_ARRAY = "a whole array copied to the GPU"
    XLA = "a program of XLA that does not fit"
    AUTOTUNER = "no memory left for XLA's autotuner"
    UNIFIED = "unified memory that the host could not back"
    HOST = "the machine's own memory"
    KILLED = "killed from outside"
    UNKNOWN = "out of memory, cause unknown"

    @property
    def failed(self) -> bool:
        """Whether memory ran out, as far as the log tells."""
        return self not in (Kind.NONE, Kind.HARMLESS, Kind.OTHER_ERROR)

    @property
    def on_device(self) -> bool:
        """It is about a GPU's memory: an estimate beside it makes sense."""
        return self.failed and self not in (Kind.HOST, Kind.KILLED)


class Sure(StrEnum):
    """How far the log alone proves the verdict."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Framework(StrEnum):
    """Whose log it is."""

    TENSORFLOW = "TensorFlow"
    JAX = "JAX"
    PYTORCH = "PyTorch"


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
class Share:
    """A part of the device's memory and who held it."""

    who: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Other:
    """Another failure in the same log."""

    line: int
    device: str
    requested_bytes: int | None
    operation: str
    what: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a log says about memory that ran out. Unknown is None or empty, never a guess.

    Attributes:
        verdict: One sentence.
        sure: How far the log proves it.
        why: Sentences that lead to it.
        shares: Who held the device's memory, where the log tells.
        missing: What the log does not tell and would say more.
        remedies: What to do, the cheapest first; `plimsoll advise` works out those that concern the model.
        question: One whose answer would decide; empty where nothing is open.
        evidence: The lines of the log that the verdict rests on.
        framework: Whose log it is; empty where it can't be told.
        device: "GPU:1", "CPU:0" or "host".
        device_name: As the log tells it: "Tesla T4".
        rank: Of several processes that wrote the log, the one that failed, as the log names it.
        exact: `requested_bytes` is to the byte; else it was written in human units.
        limit_bytes: What the allocator may take; `in_use_bytes` what it had given out, `free_bytes` the rest of it.
        total_bytes: All of the device's memory.
        largest_free_bytes: The largest piece that it could still have given out.
        layer: Of the operation that failed; which phase of the step it is in, and what kind of memory it wanted.
        during: "validation" or "prediction" where a traceback shows that it was not a training step.
        in_first_step: It failed before the first step had ended; None where the log does not tell.
        batch: What the log names as the batch size; `precision` and `version` (of TensorFlow) likewise.
        others: More failures, in the order of the log; `more` counts those that are not listed.
    """

    kind: Kind
    verdict: str
    sure: Sure = Sure.CERTAIN
    why: tuple[str, ...] = ()
    shares: tuple[Share, ...] = ()
    missing: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    question: str = ""
    evidence: tuple[Evidence, ...] = ()
    framework: str = ""
    device: str = ""
    device_name: str = ""
    rank: str = ""
    allocator: str = ""
    requested_bytes: int | None = None
    exact: bool = False
    limit_bytes: int | None = None
    total_bytes: int | None = None
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
    batch: int | None = None
    precision: str = ""
    version: str = ""
    holders: tuple[Holder, ...] = ()
    notes: tuple[Finding, ...] = ()
    others: tuple[Other, ...] = ()
    more: int = 0
