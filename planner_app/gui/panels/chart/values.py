"""The capacity chart as plain values: turns what is known into what to draw."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner_app.core.estimate.curve import LargestBatch
from planner_app.core.estimate.level import Level
from planner_app.core.estimate.need import Needs
from planner_app.core.estimate.verdict import Verdict, judge
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.model.setup import Precision, StepSetup
from planner_app.gui.panels.chart.curve import GIB, Curve, curve_of
from planner_app.gui.panels.chart.drawn.capacity import Capacity, capacity_of
from planner_app.gui.panels.chart.others import Other
from planner_app.gui.state.choice import Choice
from planner_app.reports.run_words import run_reason, run_text

ABOVE_CAPACITY = 1.28  # height of the chart, with room for what does not fit and for labels
WIDTH = 1024  # the largest batch on the chart over the smallest, unless a smaller one is chosen
LEAST_BATCH = 64  # shown at least, however little fits


# The largest per-GPU batch of a line: counting tight, and sure; None until it is solved.
Solved = tuple[LargestBatch | None, LargestBatch | None]


@dataclass(frozen=True, slots=True)
class Series:
    """One line. Batches on the chart are global: those of the curve times `share`.

    Attributes:
        precisions: Those that take the same memory; the first one gives the colour.
        largest: The largest global batch on the chosen device, counting tight; None without a limit.
        sure: The largest that is sure to fit; None until it is solved.
        bound: More than `largest` was not tried.
        why: Why XLA compiles it or does not.
    """

    precisions: tuple[Precision, ...]
    gpus: int
    share: int
    curve: Curve
    xla: bool
    chosen: bool
    largest: int | None
    bound: bool = False
    sure: int | None = None
    why: str = ""

    @property
    def key(self) -> tuple[Precision, int]:
        return self.precisions[0], self.gpus

    @property
    def run(self) -> tuple[int, bool]:
        """How it runs: on so many GPUs, compiled by XLA or not."""
        return self.gpus, self.xla

    @property
    def label(self) -> str:
        return f"{' / '.join(self.precisions)}, {run_text(*self.run)}"

    @property
    def largest_text(self) -> str:
        """Both answers, once the sure one is solved."""
        most = f"{self.largest:,}{'+' if self.bound else ''}"
        return most if self.sure is None or self.sure == self.largest else f"{most} ({self.sure:,} sure)"


@dataclass(frozen=True, slots=True)
class Mark:
    """A point that was not estimated: measured, or compiled.

    Attributes:
        failed: It ran out of memory; `gib` is its limit.
        elsewhere: On another kind of device than the chart's lines.
    """

    source: str
    batch: int
    gib: float
    text: str
    failed: bool = False
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """The chosen setup."""

    batch: int
    per_gpu_batch: int
    gib: float
    verdict: Verdict | None


@dataclass(frozen=True, slots=True)
class Picture:
    """`verdicts` are those of the series at the chosen batch, on the chosen device."""

    series: tuple[Series, ...] = ()
    capacities: tuple[Capacity, ...] = ()
    chosen: Chosen | None = None
    marks: tuple[Mark, ...] = ()
    least_batch: int = 1
    most_batch: int = LEAST_BATCH
    top_gib: float = 1.0
    note: str = ""
    others: tuple[Other, ...] = ()
    verdicts: tuple[Verdict | None, ...] = ()


def picture(
    choice: Choice,
    needs: Needs,
    largest: Mapping[StepSetup, Solved],
    marks: Sequence[Mark] = (),
    note: str = "",
    others: tuple[Other, ...] = (),
) -> Picture:
    """`largest` are the solved batches for the chosen device; others are read from the curve."""
    series = _all_series(choice, needs, largest)
    capacities = tuple(capacity_of(device, device == choice.device) for device in choice.devices if device.total_bytes)
    chosen = _chosen(choice, needs)
    top = max([c.limit_gib for c in capacities], default=0.0) * ABOVE_CAPACITY or _highest(series, chosen)
    most = _most_batch(series, chosen)
    return Picture(
        series=series,
        capacities=capacities,
        chosen=chosen,
        marks=tuple(marks),
        least_batch=max(1, min(most // WIDTH, chosen.batch // 2 if chosen else 1)),
        most_batch=most,
        top_gib=top,
        note=note,
        others=others,
        verdicts=tuple(_verdict(choice, each) for each in series),
    )


def _verdict(choice: Choice, series: Series) -> Verdict | None:
    limit = allocator_limit_bytes(choice.device)
    if limit is None:
        return None
    return judge(_level(series.curve, -(-choice.setup.batch // series.share)), limit)


def _level(curve: Curve, batch: int) -> Level:
    peak, low, high = curve.at(max(batch, 1))
    return Level(round(peak * GIB), round(low * GIB), round(high * GIB))


def _all_series(
    choice: Choice,
    needs: Needs,
    largest: Mapping[StepSetup, Solved],
) -> tuple[Series, ...]:
    alike: dict[tuple[StepSetup, int], list[Precision]] = {}
    for line in choice.lines():
        alike.setdefault((line.step(choice.device.target), line.gpus), []).append(line.precision)
    found = []
    for (step, gpus), precisions in alike.items():
        memory = needs.memories.get(step)
        if memory is None or not memory.points:
            continue
        chosen = choice.setup.precision if choice.setup.precision in precisions else precisions[0]
        need = needs.of(choice.line(chosen, gpus), choice.device)
        curve, share = curve_of(need), choice.line(chosen, gpus).shares
        solved, sure = largest.get(step, (None, None))
        fits, limit = None, need.capacity_bytes
        if limit is not None:
            fits = (solved.batch if solved else curve.largest_within(limit / GIB)) * share
        found.append(
            Series(
                precisions=tuple(precisions),
                gpus=gpus,
                share=share,
                curve=curve,
                xla=memory.xla,
                chosen=choice.setup.precision in precisions and choice.setup.gpus == gpus,
                largest=fits,
                bound=bool(solved and solved.bound),
                sure=None if sure is None else sure.batch * share,
                why=run_reason(choice.line(chosen, gpus), cuda=choice.device.cuda, xla=memory.xla),
            )
        )
    return tuple(found)


def _chosen(choice: Choice, needs: Needs) -> Chosen | None:
    setup = choice.setup
    if not needs.has(setup, choice.device):
        return None
    need = needs.of(setup, choice.device)
    if not need.memory.points:
        return None
    level = _level(curve_of(need), setup.per_gpu_batch)
    limit = need.capacity_bytes
    return Chosen(
        setup.batch, setup.per_gpu_batch, level.peak_bytes / GIB, None if limit is None else judge(level, limit)
    )


def _highest(series: Sequence[Series], chosen: Chosen | None) -> float:
    at_32 = [each.curve.at(32)[0] for each in series]
    return max([*at_32, chosen.gib * ABOVE_CAPACITY if chosen else 0.0], default=1.0) * ABOVE_CAPACITY


def _most_batch(series: Sequence[Series], chosen: Chosen | None) -> int:
    """Leaves room to the right of the last batch that fits, to show that the next does not."""
    fitting = [each.largest for each in series if each.largest]
    unlimited = [256 * each.share for each in series if each.largest is None]
    shown = max([*(2 * batch for batch in fitting), *unlimited, chosen.batch * 2 if chosen else 0, LEAST_BATCH])
    return 1 << (shown - 1).bit_length()
