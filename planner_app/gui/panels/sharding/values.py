"""Ways to share a model out over GPUs as plain values: a row for each mesh and layout, and two of them side by side."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner_app.core.estimate.breakdown import Term
from planner_app.core.estimate.estimate import Estimate
from planner_app.core.model.setup import Setup
from planner_app.core.sharding.layout import Layout
from planner_app.core.sharding.options import ShardingOption
from planner_app.units import format_bytes

NOTHING = "-"
MOST_DRAWN = 5  # lines of a search on the chart: more can't be told apart
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One mesh with one layout.

    Attributes:
        setup: What it is trained as, with one sample in each share of the batch.
        full: Share of the GPU's memory that the state takes, or all that the largest batch takes.
        reason: Why it does not fit; "" if it does.
    """

    name: str
    setup: Setup
    mesh: str
    layout: str
    batch: str = NOTHING
    state: str = NOTHING
    replicated: str = NOTHING
    peak: str = NOTHING
    travel: str = NOTHING
    full: float = 0.0
    fits: bool = False
    reason: str = ""
    stays: str = ""
    rules: Layout | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        return self.mesh, self.layout, self.batch, self.state, self.replicated, self.peak, self.travel


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Two rows, what by what. `batch` is the one that the lower lines are for."""

    titles: tuple[str, str] = ("", "")
    lines: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ShardingValues:
    """Attributes:
    asked: What the table is for: GPUs, device, training.
    note: The state of the table.
    chosen: The row of the chosen setup.
    """

    asked: str = ""
    note: str = ""
    rows: tuple[Row, ...] = ()
    chosen: int | None = None
    stale: bool = False


def row_of(option: ShardingOption, setup: Setup, capacity_bytes: int) -> Row:
    placed, largest = option.placement, option.largest
    on = setup.on_mesh(option.mesh, option.layout)
    name = f"{option.mesh} {option.layout}"
    if placed is None:
        return Row(name, on, str(option.mesh), str(option.layout), reason=option.reason)
    taken = largest.level.peak_bytes if largest else placed.device_bytes
    about = "" if option.compiled else "≥ "
    return Row(
        name=name,
        setup=on,
        mesh=str(option.mesh),
        layout=str(option.layout),
        batch=f"{option.batch:,}" if largest else NOTHING,
        state=format_bytes(placed.device_bytes),
        replicated=format_bytes(placed.replicated_bytes),
        peak=format_bytes(largest.level.peak_bytes) if largest else NOTHING,
        travel=f"{about}{format_bytes(option.travel_bytes)}",
        full=min(taken / capacity_bytes, 1.0),
        fits=option.fits,
        reason=option.reason,
        stays=", ".join(
            f"{each.variable.path} ({format_bytes(each.device_bytes)})"
            for each in placed.largest_replicated(MOST_NAMED)
            if each.device_bytes
        ),
        rules=placed.layout,
    )


def side_by_side(
    pair: tuple[Row, Row], batch: int, estimates: Sequence[Estimate | None], capacity_bytes: int | None
) -> SideBySide:
    """The figures of the table, then what is in memory at one batch."""
    left, right = pair
    lines = [
        ("largest batch", left.batch, right.batch),
        ("state on each GPU", left.state, right.state),
        ("of it on every GPU", left.replicated, right.replicated),
        ("sent in a step", left.travel, right.travel),
    ]
    known = [estimate.breakdown if estimate else {} for estimate in estimates]
    if any(known):
        lines.append((f"peak at batch {batch:,}", *_pair(_peak(each, capacity_bytes) for each in estimates)))
        for term in Term:
            sizes = [terms.get(term, 0) for terms in known]
            if any(sizes):
                each = (format_bytes(size) if terms else NOTHING for size, terms in zip(sizes, known, strict=True))
                lines.append((f"  {term}", *_pair(each)))
    return SideBySide((left.name, right.name), tuple(lines))


def _peak(estimate: Estimate | None, capacity_bytes: int | None) -> str:
    if estimate is None:
        return NOTHING
    above = capacity_bytes is not None and estimate.peak_bytes > capacity_bytes
    return f"{format_bytes(estimate.peak_bytes)}{' (too much)' if above else ''}"


def _pair(texts: Iterable[str]) -> tuple[str, str]:
    left, right = texts
    return left, right


def partner(rows: Sequence[Row], place: int, before: int | None) -> int:
    """What a row is shown beside: the one looked at before, else the best of the others."""
    if before is not None and before != place and before < len(rows):
        return before
    return 0 if place else min(1, len(rows) - 1)


def chosen_row(rows: Sequence[Row], setup: Setup) -> int | None:
    """The row that the chosen setup is trained as."""
    return next((place for place, row in enumerate(rows) if row.setup == setup.least()), None)


def lines_of(rows: Sequence[Row], chosen: int | None) -> tuple[tuple[str, Setup], ...]:
    """The best ones that fit, for the chart; the chosen one has a line of its own there."""
    fitting = [row for place, row in enumerate(rows) if row.fits and place != chosen]
    return tuple((row.name, row.setup) for row in fitting[:MOST_DRAWN])
