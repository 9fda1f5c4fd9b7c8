"""Why a measurement, its estimate and the chart differ, in words."""

from collections.abc import Iterator
from dataclasses import dataclass

from planner_app.core.measure.compare import Comparison, Part
from planner_app.core.measure.measurement import Measurement, Order
from planner_app.reports.run_words import run_text
from planner_app.units import format_bytes

WORTH_NAMING = 0.2  # of the difference: a smaller part explains nothing
MOST_PARTS = 3
SAME = 0.0005  # of the figure: nobody asks about less


@dataclass(frozen=True, slots=True)
class OnChart:
    """What the chart shows for the measured setup."""

    peak_bytes: int
    device: str
    cuda: bool
    gpus: int
    xla: bool


def explanation(measurement: Measurement, comparison: Comparison, chart: OnChart | None) -> str:
    return " ".join((*_against_estimate(measurement, comparison), *_against_chart(measurement, comparison, chart)))


def speed_text(samples_per_second: float | None) -> str:
    """Two digits at least: a large model on a small machine takes seconds for a sample."""
    if not samples_per_second:
        return ""
    if samples_per_second >= 100:
        return f"{samples_per_second:,.0f} samples/s"
    if samples_per_second >= 1:
        return f"{samples_per_second:.2g} samples/s"
    return f"{1 / samples_per_second:,.2g} s per sample"


def _against_estimate(measurement: Measurement, comparison: Comparison) -> Iterator[str]:
    measured, estimated = _middle(comparison), comparison.estimated_bytes
    band = f"{format_bytes(comparison.low_bytes)} to {format_bytes(comparison.high_bytes)}"
    yield f"Measured {format_bytes(measured)} {_where(measurement)}."
    inside = "inside" if comparison.in_band else "outside"
    if abs(estimated - measured) <= SAME * measured:
        yield f"The estimate for exactly this run is the same; its band is {band}."
        return
    more = "more" if estimated > measured else "less"
    yield (
        f"The estimate for exactly this run is {format_bytes(estimated)}, {abs(estimated / measured - 1):.1%} {more}; "
        f"the measurement lies {inside} its band of {band}."
    )
    parts = sorted(comparison.terms, key=lambda part: -abs(part.difference_bytes))[:MOST_PARTS]
    large = [part for part in parts if abs(part.difference_bytes) > WORTH_NAMING * abs(estimated - measured)]
    if large:
        yield f"Most of that: {', '.join(map(_part, large))}."


def _against_chart(measurement: Measurement, comparison: Comparison, chart: OnChart | None) -> Iterator[str]:
    if chart is None:
        return
    yield f"The chart shows {format_bytes(chart.peak_bytes)}: it is drawn for {chart.device}, {_run(chart)}."
    measured_xla = any(run.xla for run in measurement.runs)
    if chart.xla and not measured_xla:
        yield "XLA compiles the step there and did not here: it fuses operations and keeps fewer results."
    elif measured_xla and not chart.xla:
        yield "XLA compiled the step here and does not there."
    if chart.cuda and not measurement.place.on_gpu:
        yield "A GPU's kernels need other scratch memory than the CPU's, and its tensors lie in another layout."
    elif not chart.cuda and measurement.place.on_gpu:
        yield "The CPU's kernels need other scratch memory than a GPU's."
    if comparison.replicas > 1:
        yield f"{comparison.replicas} replicas shared one allocator here; the chart shows one GPU's share."


def _run(chart: OnChart) -> str:
    return run_text(chart.gpus, chart.xla) if chart.cuda else "XLA" if chart.xla else "no XLA"


def _where(measurement: Measurement) -> str:
    if measurement.place.on_gpu:
        return f"on {measurement.hardware}"
    one_by_one = "kernels one by one, in a GPU's order" if measurement.order is Order.INLINE else "on a thread pool"
    return f"on the CPU ({one_by_one})"


def _part(part: Part) -> str:
    more = "more" if part.difference_bytes > 0 else "less"
    return f"{part.name} {format_bytes(abs(part.difference_bytes))} {more}"


def _middle(comparison: Comparison) -> int:
    return sorted(comparison.measured_bytes)[len(comparison.measured_bytes) // 2]
