"""What memory consists of, as plain values: over the batch, and term by term for one setup, or for two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner_app.core.estimate.breakdown import MEANING, Term, snapshot
from planner_app.core.estimate.curve import anchors
from planner_app.core.estimate.estimate import Estimate, terms
from planner_app.core.estimate.need import Need
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.model.setup import Setup
from planner_app.core.replay.memory import Memory
from planner_app.units import format_bytes

GIB = 1 << 30
BEYOND = 1.15  # of the capacity: as far as areas are drawn
WITHOUT_LIMIT = 8  # times the chosen batch: the same without a limit
MOST_BATCH = 1 << 24
WIDTH = 1024  # the largest batch drawn over the smallest, unless a smaller one is chosen

Terms = Mapping[Term, int]


@dataclass(frozen=True, slots=True)
class TermsAt:
    """What the peak at one per-GPU batch consists of."""

    memory: Memory
    batch: int

    def answer(self) -> Terms:
        point = self.memory.point(self.batch)
        moment = snapshot(
            self.memory.trace_at(self.batch), self.memory.buffers(self.batch), self.batch, point.peak.move
        )
        return {Term(term): size for term, size in terms(moment, point.in_use_bytes).items()}


@dataclass(frozen=True, slots=True)
class Areas:
    """Bytes by term over the global batch, without terms that are always zero."""

    batches: tuple[int, ...] = ()
    terms: tuple[tuple[Term, tuple[int, ...]], ...] = ()

    @property
    def tops(self) -> tuple[int, ...]:
        return tuple(map(sum, zip(*(sizes for _, sizes in self.terms), strict=True)))


@dataclass(frozen=True, slots=True)
class Row:
    """One term of the chosen setup, and of the pinned one if there is one; `term` is None for sums."""

    name: str
    term: Term | None
    now_bytes: int | None
    share: float
    pinned_bytes: int | None
    meaning: str

    @property
    def difference_bytes(self) -> int | None:
        if self.now_bytes is None or self.pinned_bytes is None:
            return None
        return self.now_bytes - self.pinned_bytes


@dataclass(frozen=True, slots=True)
class BreakdownValues:
    """Attributes:
    title: The chosen setup.
    batch: Its global batch; 0 without a model.
    verdict: None without a limit, or while nothing is known yet.
    pinned: The pinned setup; "" if there is none.
    rows: Terms, then their sum and what lies outside the allocator.
    note: What is being waited for, or went wrong.
    """

    title: str = ""
    batch: int = 0
    verdict: Verdict | None = None
    areas: Areas = Areas()
    capacity: str = ""
    capacity_bytes: int | None = None
    pinned: str = ""
    rows: tuple[Row, ...] = ()
    note: str = ""

    @property
    def peak_bytes(self) -> int | None:
        return next((row.now_bytes for row in self.rows if row.term is None), None)


def setup_text(setup: Setup) -> str:
    gpus = "1 GPU" if setup.gpus == 1 else f"{setup.gpus} GPUs"
    steps = "" if setup.accumulate == 1 else f" in {setup.accumulate} steps"
    return f"{setup.precision}, {gpus}, batch {setup.batch:,}{steps}"


def shown_batches(memory: Memory, chosen: int, limit_bytes: int | None) -> tuple[int, ...]:
    """Per-GPU batches to draw areas for: as far as replayed, to just beyond what fits or is chosen."""
    known = {point.batch: point.in_use_bytes for point in memory.points}
    shown = []
    for batch in anchors(MOST_BATCH):
        if batch not in known:
            break
        shown.append(batch)
        beyond = batch >= WITHOUT_LIMIT * chosen if limit_bytes is None else known[batch] > limit_bytes * BEYOND
        if beyond and batch > chosen:
            break
    least = min(shown[-1] // WIDTH, chosen // 2) if shown else 0
    return tuple(batch for batch in shown if batch >= least)


def areas(batches: Sequence[int], known: Sequence[Terms | None], share: int) -> Areas:
    """Areas of the batches whose terms are known."""
    found = [(batch, terms) for batch, terms in zip(batches, known, strict=True) if terms is not None]
    if len(found) < 2:
        return Areas()
    there = [term for term in Term if any(terms.get(term) for _, terms in found)]
    return Areas(
        tuple(batch * share for batch, _ in found),
        tuple((term, tuple(terms.get(term, 0) for _, terms in found)) for term in there),
    )


def between(areas: Areas, batch: int) -> dict[Term, int] | None:
    """Terms interpolated between the two neighbouring batches: close enough until replayed."""
    for place in range(1, len(areas.batches)):
        left, right = areas.batches[place - 1], areas.batches[place]
        if left <= batch <= right:
            way = (batch - left) / (right - left)
            return {
                term: round(sizes[place - 1] + (sizes[place] - sizes[place - 1]) * way) for term, sizes in areas.terms
            }
    return None


def rows(now: Terms | None, outside: int, pinned: Estimate | None, limit: int | None) -> tuple[Row, ...]:
    """Every term of either setup, in stacking order, and the sums."""
    before = {} if pinned is None else {Term(term): size for term, size in pinned.breakdown.items()}
    if now is None and not before:
        return ()
    total = None if now is None else sum(now.values())

    def row(name: str, term: Term | None, size: int | None, old: int, meaning: str) -> Row:
        part = size / total if size is not None and total else 0.0
        return Row(name, term, size, part, None if pinned is None else old, meaning)

    found = [
        row(str(term), term, None if now is None else now.get(term, 0), before.get(term, 0), MEANING[term])
        for term in Term
        if (now or {}).get(term) or before.get(term)
    ]
    before_total = pinned.peak_bytes if pinned else 0
    found.append(row("in use", None, total, before_total, _in_use_meaning(limit)))
    before_outside = pinned.device_bytes - pinned.peak_bytes if pinned else 0
    if outside or before_outside:
        found.append(row("outside", None, outside, before_outside, OUTSIDE))
        whole = None if total is None else total + outside
        found.append(row("on the device", None, whole, before_total + before_outside, ON_DEVICE))
    return tuple(found)


OUTSIDE = "Driver, CUDA context, libraries and NCCL: outside the allocator and its limit."
ON_DEVICE = "What nvidia-smi would show at the peak if TensorFlow allocated memory as needed, not all at the start."


def _in_use_meaning(limit: int | None) -> str:
    most = "" if limit is None else f" It must fit in the {format_bytes(limit)} that TensorFlow can use here."
    return f"All terms together: what TensorFlow's allocator has in use at the peak.{most}"


def breakdown_values(
    setup: Setup, need: Need, drawn: Areas, chosen: Estimate | None, pinned: tuple[Setup, Estimate | None] | None
) -> BreakdownValues:
    """`chosen` is the estimate of the setup; until it is available, terms are read from the areas."""
    now: Terms | None = between(drawn, setup.batch)
    if chosen is not None:
        now = {Term(term): size for term, size in chosen.breakdown.items()}
    found = rows(now, need.outside_bytes(setup.gpus), pinned[1] if pinned else None, need.capacity_bytes)
    return BreakdownValues(
        title=setup_text(setup),
        batch=setup.batch,
        areas=drawn,
        capacity=need.device.name,
        capacity_bytes=need.capacity_bytes,
        pinned=setup_text(pinned[0]) if pinned else "",
        rows=found,
        note="" if now is not None else "Calculating …",
        verdict=None if chosen is None else chosen.verdict,
    )
