"""The capacity chart as plain values: turns what is known into what to draw."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from weakref import WeakKeyDictionary

from planner_app.core.compile.line import Line
from planner_app.core.estimate.curve import LargestBatch
from planner_app.core.estimate.level import Level
from planner_app.core.estimate.need import Need, Needs
from planner_app.core.estimate.verdict import Verdict, judge
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.runtime import allocator_limit_bytes, context_bytes, free_bytes, min_system_memory_bytes
from planner_app.core.measure.calibration import Calibration
from planner_app.core.model.setup import Precision, StepSetup
from planner_app.core.replay.memory import Memory
from planner_app.gui.choice import Choice
from planner_app.units import format_bytes

GIB = 1 << 30
ABOVE_CAPACITY = 1.28  # height of the chart, with room for what does not fit and for labels
WIDTH = 1024  # the largest batch on the chart over the smallest, unless a smaller one is chosen
LEAST_BATCH = 64  # shown at least, however little fits


# The largest per-GPU batch of a line: counting tight, and sure; None until it is solved.
Solved = tuple[LargestBatch | None, LargestBatch | None]


@dataclass(frozen=True, slots=True)
class Curve:
    """Memory of one GPU over its batch, as far as replayed."""

    batches: tuple[int, ...]
    peak_gib: tuple[float, ...]
    low_gib: tuple[float, ...]
    high_gib: tuple[float, ...]

    def at(self, batch: int) -> tuple[float, float, float]:
        """Expected, low and high, interpolated between the two nearest batches and extrapolated beyond the last."""
        place = min(max(bisect_left(self.batches, batch), 1), len(self.batches) - 1)
        if len(self.batches) == 1:
            return self.peak_gib[0], self.low_gib[0], self.high_gib[0]
        left, right = self.batches[place - 1], self.batches[place]
        share = (batch - left) / (right - left)
        peak, low, high = (
            values[place - 1] + (values[place] - values[place - 1]) * share
            for values in (self.peak_gib, self.low_gib, self.high_gib)
        )
        return peak, low, high

    def largest_within(self, limit_gib: float) -> int:
        """The largest batch on the line within a limit, 0 if there is none: close enough until replayed."""
        if self.peak_gib[0] > limit_gib:
            return 0
        for place in range(1, len(self.batches)):
            if self.peak_gib[place] > limit_gib:
                left, right = self.batches[place - 1], self.batches[place]
                rise = self.peak_gib[place] - self.peak_gib[place - 1]
                return left + int((right - left) * (limit_gib - self.peak_gib[place - 1]) / rise)
        return self.batches[-1]


@dataclass(frozen=True, slots=True)
class Series:
    """One line. Batches on the chart are global: those of the curve times `share`.

    Attributes:
        precisions: Those that take the same memory; the first one gives the colour.
        largest: The largest global batch on the chosen device, counting tight; None without a limit.
        sure: The largest that is sure to fit; None until it is solved.
        bound: More than `largest` was not tried.
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

    @property
    def key(self) -> tuple[Precision, int]:
        return self.precisions[0], self.gpus

    @property
    def label(self) -> str:
        return f"{' / '.join(self.precisions)}, {gpus_text(self.gpus)}"

    @property
    def largest_text(self) -> str:
        """Both answers, once the sure one is solved."""
        most = f"{self.largest:,}{'+' if self.bound else ''}"
        return most if self.sure is None or self.sure == self.largest else f"{most} ({self.sure:,} sure)"


@dataclass(frozen=True, slots=True)
class Capacity:
    """A device's capacity line. `sold_gib` is its marketed size in GiB, drawn faintly above it."""

    name: str
    limit_gib: float
    sold_gib: float | None
    chosen: bool
    why: str


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
    series: tuple[Series, ...] = ()
    capacities: tuple[Capacity, ...] = ()
    chosen: Chosen | None = None
    marks: tuple[Mark, ...] = ()
    least_batch: int = 1
    most_batch: int = LEAST_BATCH
    top_gib: float = 1.0
    note: str = ""


def gpus_text(gpus: int) -> str:
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"


# Caches each line by its known points, calibration and compiler figures; dropped with the model.
_curves: WeakKeyDictionary[Memory, dict[tuple[int, Calibration | None, Line], Curve]] = WeakKeyDictionary()


def _curve(need: Need) -> Curve:
    batches = sorted({point.batch for point in need.memory.points} | {each.batch for each in need.line.anchors})
    levels = [need.level(batch) for batch in batches]
    return Curve(
        tuple(batches),
        tuple(level.peak_bytes / GIB for level in levels),
        tuple(level.low_bytes / GIB for level in levels),
        tuple(level.high_bytes / GIB for level in levels),
    )


def curve_of(need: Need) -> Curve:
    known, key = _curves.setdefault(need.memory, {}), (len(need.memory.points), need.calibration, need.line)
    if key not in known:
        known[key] = _curve(need)
    return known[key]


def picture(
    choice: Choice,
    needs: Needs,
    largest: Mapping[StepSetup, Solved],
    marks: Sequence[Mark] = (),
    note: str = "",
) -> Picture:
    """`largest` are the solved batches for the chosen device; others are read from the curve."""
    series = _all_series(choice, needs, largest)
    capacities = tuple(_capacity(device, device == choice.device) for device in choice.devices if device.total_bytes)
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
    )


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
        curve, share = curve_of(need), gpus * choice.setup.accumulate
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
    peak, low, high = curve_of(need).at(setup.per_gpu_batch)
    limit = need.capacity_bytes
    level = Level(round(peak * GIB), round(low * GIB), round(high * GIB))
    return Chosen(setup.batch, setup.per_gpu_batch, peak, None if limit is None else judge(level, limit))


@lru_cache(maxsize=256)
def _capacity(device: Device, chosen: bool) -> Capacity:
    limit = allocator_limit_bytes(device) or 0
    sold = None if device.marketed_gb is None else device.marketed_gb * 1e9 / GIB
    if sold is not None and device.total_bytes and sold < device.total_bytes / GIB:
        sold = device.marketed_gb  # its makers mean GiB
    return Capacity(device.name, limit / GIB, sold, chosen, why_less(device))


def why_less(device: Device) -> str:
    """Why less than the card's memory is usable."""
    limit = allocator_limit_bytes(device)
    if limit is None or device.total_bytes is None:
        return "Nothing limits TensorFlow's allocator here."
    if not device.cuda:
        return f"A limit of {format_bytes(limit)} on TensorFlow's allocator."
    sold = "" if device.marketed_gb is None else f"sold as {device.marketed_gb:g} GB; "
    derived = " (derived, not confirmed)" if device.total_is_derived else ""
    reserve = min_system_memory_bytes(free_bytes(device).expected_bytes, device.compute_capability)
    return (
        f"{device.name}: {sold}its driver reports {format_bytes(device.total_bytes)}{derived}. "
        f"The driver and a CUDA context take about {format_bytes(context_bytes(device).expected_bytes)}, "
        f"TensorFlow leaves {format_bytes(reserve)} for CUDA's libraries: "
        f"{format_bytes(limit)} remain for its allocator."
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
