"""What has been seen of a log: its failures, each with what its lines said, and all that stands beside them."""

from collections import Counter
from dataclasses import dataclass, field

from planner_app.core.doctor.log.lines import Line

MOST_REPORTS = 100  # kept; more are counted
MOST_EVIDENCE = 12  # lines kept of one report
MOST_NAMES = 2000  # operations or sizes that are told apart in one report
EVIDENCE_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line of the log, as it is written there but for control characters.

    Attributes:
        place: Where to find it, where a number alone does not tell: "cell 7, line 3".
    """

    line: int
    text: str
    place: str = ""


@dataclass(slots=True)
class Report:
    """One failure, as far as its lines have been seen. Sizes are bytes; None is what nobody said.

    Attributes:
        exact: `requested` is to the byte.
        eager: The operation ran by itself, outside of a graph; `made` says what its traceback shows it to make.
        copied: It is a copy from the host; `copied_for` the operation that wanted it.
        nothing_taken: The allocator got no memory of the device at all.
        refused: Just before, the driver had refused the allocator a region: it was not at its limit.
        during: "validation" or "prediction", where a traceback shows it.
        rank: Of several processes that wrote the log, the one that said it.
        told: What the lines of a sign told, by the names in its patterns.
        process_bytes: What PyTorch says that its process has, context and libraries included.
    """

    sign: str
    line: int
    allocator: str = ""
    device: str = ""
    requested: int | None = None
    exact: bool = False
    operation: str = ""
    eager: bool = False
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    temporary: bool = False
    kernel: str = ""
    dumped: bool = False
    used_sum: int = 0
    free_sum: int = 0
    largest_free: int = 0
    by_size: Counter[int] = field(default_factory=Counter)
    in_use: int | None = None
    pool: int | None = None
    limit: int | None = None
    available: int | None = None
    stats: dict[str, int] = field(default_factory=dict)
    occupancy: str = ""
    cuda_free: int | None = None
    cuda_total: int | None = None
    holders: Counter[str] = field(default_factory=Counter)
    accounts: int = 0
    copied: bool = False
    copied_for: str = ""
    xla: bool = False
    nothing_taken: bool = False
    refused: bool = False
    on_host: bool = False
    xla_parts: dict[str, int] = field(default_factory=dict)
    xla_buffers: list[tuple[int, str]] = field(default_factory=list)
    rank: str = ""
    told: dict[str, str] = field(default_factory=dict)
    framework: str = ""
    process_bytes: int | None = None
    idle_bytes: int | None = None
    space: str = ""
    made: str = ""
    during: str = ""
    evidence: list[Evidence] = field(default_factory=list)
    progress: "Progress | None" = None

    @property
    def last_line(self) -> int:
        return self.evidence[-1].line if self.evidence else self.line

    def keep(self, line: Line) -> None:
        if len(self.evidence) < MOST_EVIDENCE and all(line.number != kept.line for kept in self.evidence):
            self.evidence.append(Evidence(line.number, line.text.strip()[:EVIDENCE_LENGTH]))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far training had come. `fits` counts calls of fit: epochs that started anew; `steps` all steps that ended."""

    fits: int = 0
    epoch: int = 0
    epochs: int = 0
    steps: int = 0
    step: int = 0
    of: int = 0
    unit: int = 0


@dataclass(frozen=True, slots=True)
class SeenDevice:
    """A GPU as TensorFlow announced it."""

    device: str
    name: str
    limit_bytes: int
    capability: str
    evidence: Evidence


@dataclass(slots=True)
class Seen:
    """All that a log said."""

    reports: list[Report] = field(default_factory=list)
    more_reports: int = 0
    devices: list[SeenDevice] = field(default_factory=list)
    gpu_names: set[str] = field(default_factory=set)
    notes: dict[str, list[Evidence]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    refused: list[int] = field(default_factory=list)
    workspace: list[int] = field(default_factory=list)
    free_at_start: tuple[int, int] | None = None
    total_at_start: int | None = None
    base_limit: int | None = None
    processes: list[tuple[int, str, int]] = field(default_factory=list)
    retraced: tuple[int, int] | None = None
    progress: Progress = Progress()
    progress_line: int = 0
    bad_line: int = 0
    last_error: Evidence | None = None
    batch: int | None = None
    precision: str = ""
    version: str = ""

    @property
    def went_on(self) -> bool:
        """Steps were made after the last error."""
        return self.progress_line > self.bad_line

    @property
    def took_less(self) -> bool:
        """Steps were made after the driver had refused a region: the allocator took a smaller one."""
        return self.progress.steps > 0 and self.progress_line > self.notes["refused"][0].line

    @property
    def autotuned(self) -> bool:
        """XLA's autotuner failed: what ran out may be what it tried kernels in."""
        return any(report.sign == "autotuner" for report in self.reports)

    @property
    def of_jax(self) -> bool:
        return bool(self.notes.get("jax"))

    @property
    def of_pytorch(self) -> bool:
        return bool(self.notes.get("torch_seen")) and not self.of_jax and not self.notes.get("program")

    def note(self, name: str, line: Line) -> None:
        self.counts[name] += 1
        kept = self.notes.setdefault(name, [])
        if len(kept) < 3:
            kept.append(Evidence(line.number, line.text.strip()[:EVIDENCE_LENGTH]))
