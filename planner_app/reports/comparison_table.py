"""A `Comparison` as a table: how far off the estimate was, in which terms and layers."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.core.measure.compare import Comparison, Part
from planner_app.core.measure.measurement import Measurement
from planner_app.units import format_bytes

MOST_LAYERS = 8


def show(measurement: Measurement, comparison: Comparison, console: Console) -> None:
    console.print(_verdict(measurement, comparison))
    if comparison.terms:
        console.print(_table("what", comparison.terms))
    differing = [part for part in comparison.layers if part.difference_bytes][:MOST_LAYERS]
    if differing:
        console.print(_table("layer, made by the step", tuple(differing)))
    for note in comparison.notes:
        console.print(Text(f"! {note}", style="yellow"))


def _verdict(measurement: Measurement, comparison: Comparison) -> Text:
    low, high = min(comparison.measured_bytes), max(comparison.measured_bytes)
    measured = format_bytes(high) if low == high else f"{format_bytes(low)} to {format_bytes(high)}"
    text = Text(f"{comparison.error:+.1%}", style="bold green" if comparison.in_band else "bold red")
    text.append(
        f": estimated {format_bytes(comparison.estimated_bytes)}, measured {measured}\n", style="not bold default"
    )
    word = "within" if comparison.in_band else "outside"
    text.append(
        f"{word} the band of {format_bytes(comparison.low_bytes)} to {format_bytes(comparison.high_bytes)}\n",
        style="not bold default",
    )
    if comparison.measured_live_bytes:
        error = comparison.estimated_live_bytes / comparison.measured_live_bytes - 1
        text.append(
            f"live bytes {error:+.2%}: estimated {format_bytes(comparison.estimated_live_bytes)}, "
            f"measured {format_bytes(comparison.measured_live_bytes)}\n",
            style="not bold default",
        )
    about = f"{measurement.model}, batch {measurement.setup.batch}, {measurement.hardware}, {measurement.measured_at}"
    text.append(f"{about}\n", style="not bold dim default")
    return text


def _table(title: str, parts: tuple[Part, ...]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(title, overflow="fold")
    for name in ("estimated", "measured", "difference"):
        table.add_column(name, justify="right")
    for part in parts:
        sign = "-" if part.difference_bytes < 0 else "+"
        table.add_row(
            Text(part.name or "none"),
            _signed(part.estimated_bytes),
            _signed(part.measured_bytes),
            sign + format_bytes(abs(part.difference_bytes)) if part.difference_bytes else "",
        )
    return table


def _signed(count: int) -> str:
    return f"-{format_bytes(-count)}" if count < 0 else format_bytes(count)
