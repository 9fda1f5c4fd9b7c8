"""A plan as tables: the ladder of every device, and how to get a training script."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.core.estimate.verdict import judge
from planner_app.core.plan.plan import Entry, Plan, Rung
from planner_app.units import format_bytes


def show(plan: Plan, console: Console, warnings: Sequence[str], file: str) -> None:
    for entry in plan.devices:
        console.print(_heading(plan, entry))
        console.print(_ladder(entry))
        if entry.largest is not None and entry.rungs[0].accumulate > 1:
            largest = entry.largest
            console.print(
                Text(
                    f"Without accumulation, a GPU holds {largest.sure_per_gpu_batch} samples (fits), "
                    f"at most {largest.per_gpu_batch} (tight).",
                    style="dim",
                )
            )
    for warning in warnings:
        console.print(Text(f"! {warning}", style="yellow"))
    console.print(Text(f"\nWrote {file}. `plimsoll script {file}` prints a training script for it.", style="dim"))


def _heading(plan: Plan, entry: Entry) -> Text:
    text = Text(f"{entry.device.name}", style="bold")
    gpus = f", {entry.gpus} of them" if entry.gpus > 1 else ""
    hosts = f" on {len(plan.hosts)} hosts" if plan.hosts else ""
    capacity = entry.device.capacity_bytes
    room = "" if capacity is None else f", {entry.backend.label} gets {format_bytes(capacity)}"
    text.append(f"{gpus}{hosts}{room}: batch {plan.training.global_batch}\n", style="not bold")
    return text


def _ladder(entry: Entry) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("rung", "at a time", "steps", "peak", "band", "verdict"):
        table.add_column(name, justify="right")
    table.add_column("precision")
    table.add_column("")
    for number, rung in enumerate(entry.rungs):
        table.add_row(*_row(entry, number, rung), style="" if number == 0 else "dim")
    return table


def _row(entry: Entry, number: int, rung: Rung) -> tuple[str, ...]:
    capacity, peak = entry.device.capacity_bytes, rung.peak
    return (
        str(number),
        str(rung.per_gpu_batch),
        str(rung.accumulate),
        format_bytes(peak.expected_bytes),
        f"{format_bytes(peak.low_bytes)} to {format_bytes(peak.high_bytes)}",
        "" if capacity is None else str(judge(peak.level, capacity)),
        str(rung.precision),
        "compiled by XLA" if rung.jit else "",
    )
