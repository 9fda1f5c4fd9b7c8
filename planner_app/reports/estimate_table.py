"""An `Estimate` as tables: the verdict, the terms of memory, and the largest layers."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.core.estimate.estimate import Estimate
from planner_app.core.estimate.level import FROM
from planner_app.core.model.setup import OWN, Backend, Setup
from planner_app.core.model.trace import Trained
from planner_app.reports.verdict_text import verdict_text
from planner_app.units import format_bytes

MOST_LAYERS = 12
BAR = 24


def show(result: Estimate, console: Console) -> None:
    console.print(_verdict(result))
    console.print(_terms(result))
    console.print(_moment(result))
    console.print(_layers(result))
    for warning in result.warnings:
        console.print(Text(f"! {warning}", style="yellow"))


def _verdict(result: Estimate) -> Text:
    setup = result.setup
    text = Text(f"{format_bytes(result.peak_bytes)}", style="bold")
    each = " on each GPU" if setup.gpus > 1 else ""
    text.append(f" in use at the peak{each}, {format_bytes(result.low_bytes)} to ", style="not bold")
    text.append(f"{format_bytes(result.high_bytes)}\n", style="not bold")
    if result.capacity_bytes is not None and result.verdict is not None:
        text.append(verdict_text(result.verdict, result.level, result.capacity_bytes))
        text.append(
            f": {setup.backend.label} gets {format_bytes(result.capacity_bytes)} of the {result.device}\n",
            style="not bold",
        )
    batch = f"batch {setup.batch}"
    if setup.per_gpu_batch != setup.batch:
        batch += f" ({setup.per_gpu_batch} on each GPU at a time)"
    parts = [batch, str(setup.precision), *trained_with(setup, result.trained)]
    parts += [f"{setup.gpus} GPUs{sharded_text(setup)}"] * (setup.gpus > 1)
    parts += [f"{setup.accumulate} accumulation steps"] * (setup.accumulate > 1)
    parts.append(f"compiled by XLA ({FROM[result.source]})" if result.xla else "without XLA")
    text.append(", ".join(parts) + "\n", style="not bold dim")
    for each in result.trained.assumed:
        text.append(f"assumed: {each}\n", style="not bold yellow")
    return text


def sharded_text(setup: Setup) -> str:
    return f" (mesh {setup.mesh}, layout {setup.layout})" if setup.backend is Backend.JAX else ""


def trained_with(setup: Setup, trained: Trained) -> list[str]:
    """Optimizer and loss, marked if they come from the model."""
    if setup.optimizer != OWN:
        optimizer = str(setup.optimizer)
    else:
        optimizer = _from_model(trained.optimizer or str(setup.optimizer), "optimizer", trained)
    loss = f"loss {setup.loss}" if setup.loss else _from_model(f"loss {trained.loss}", "loss", trained)
    return [optimizer, loss] if setup.loss or trained.loss else [optimizer]


def _from_model(words: str, what: str, trained: Trained) -> str:
    return words if any(each.startswith(what) for each in trained.assumed) else f"{words} from the model"


def _terms(result: Estimate) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("what")
    table.add_column("bytes", justify="right")
    table.add_column("share")
    for term, size in sorted(result.breakdown.items(), key=lambda item: -item[1]):
        share = size / result.peak_bytes if result.peak_bytes else 0
        table.add_row(term, format_bytes(size), f"{share:5.1%} {'█' * round(max(share, 0) * BAR)}")
    return table


def _moment(result: Estimate) -> Text:
    where = f" of {result.peak_layer}" if result.peak_layer else ""
    return Text(f"\nthe peak is reached in the {result.peak_phase} pass{where}: {result.peak_operation}\n", style="dim")


def _layers(result: Estimate) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("layer", overflow="fold")
    table.add_column("class", style="dim", overflow="fold")
    for column in ("weights", "gradients", "optimizer", "kept activations", "at the peak"):
        table.add_column(column, justify="right")
    rows = sorted((row for row in result.layers if row.name), key=lambda row: -row.peak_bytes)
    for row in rows[:MOST_LAYERS]:
        sizes = (row.weights_bytes, row.gradients_bytes, row.optimizer_bytes, row.activation_bytes, row.peak_bytes)
        table.add_row(row.name, row.class_name, *(format_bytes(size) if size else "-" for size in sizes))
    rest = sum(row.peak_bytes for row in rows[MOST_LAYERS:])
    if rest:
        table.add_row(f"{len(rows) - MOST_LAYERS} more", "", "", "", "", "", format_bytes(rest), style="dim")
    none = sum(row.peak_bytes for row in result.layers if not row.name)
    table.add_row("no layer", "", "", "", "", "", format_bytes(none), style="dim")
    return table
