"""`plimsoll sweep MODEL --devices L4,T4 --gpus 1,2,4`: the app's whole chart as a table."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.commands.options.interrupt import interruptible
from planner_app.commands.options.planner import add_verdict, planner_of
from planner_app.commands.options.ray import add_address, tell
from planner_app.commands.options.setup import add_setup, names, numbers, precisions, setup_of
from planner_app.core.estimate.curve import per_gpu_batches
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.files.devices.catalogue import find_device
from planner_app.fleet.cluster import Cluster
from planner_app.planner.fleet.tracing import trace_on
from planner_app.planner.planner import Planner, SweepPoint
from planner_app.planner.tracer import OnProgress
from planner_app.reports.csv_rows import csv_text
from planner_app.reports.dicts import sweep_row
from planner_app.reports.verdict_text import STYLES
from planner_app.units import format_bytes

HELP = "tabulate batch sizes, precisions, GPU counts and devices"
VERDICTS = {True: Text("fits", "green"), False: Text("does not fit", "red"), None: Text()}
BATCHES = tuple(2**power for power in range(11))


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_setup(parser, batch=False, precision=False, gpus=False)
    parser.add_argument(
        "--batches", type=numbers, default=BATCHES, metavar="N,...", help="global batches; default 1 to 1024"
    )
    parser.add_argument(
        "--precisions",
        type=precisions,
        default=("float32",),
        metavar="NAME,...",
        help="Keras dtype policies; default: float32",
    )
    parser.add_argument("--gpus", type=numbers, default=(1,), metavar="N,...", help="GPU counts; default 1")
    parser.add_argument(
        "--devices", type=names, default=("cpu",), metavar="NAME,...", help="GPUs, memory sizes or cpu (default)"
    )
    add_verdict(parser)
    add_address(parser)
    arguments.add_json(parser)
    parser.add_argument("--csv", action="store_true", help="write CSV to standard output, for spreadsheets")


def run(options: Namespace) -> int:
    devices = [find_device(name) for name in options.devices]
    with terminal.progress() as on_progress:
        planner, setups = planner_of(options, on_progress), _setups(options)
        if options.ray is not None:
            _trace_on_cluster(options.ray, planner, per_gpu_batches(setups, devices), on_progress)
        points = planner.sweep(setups, devices, on_progress=on_progress)
    rows = [_row(point, sure=options.sure) for point in points]
    if options.json:
        terminal.write_json({"rows": rows})
    elif options.csv:
        sys.stdout.write(csv_text([*rows[:1], *(row.values() for row in rows)]))
    else:
        _show(rows, terminal.output())
    return 0


def _trace_on_cluster(address: str, planner: Planner, steps: Iterable[StepSetup], on_progress: OnProgress) -> None:
    with interruptible() as cancelled, Cluster(address) as cluster:
        trace_on(cluster, planner.tracer, steps, on_note=tell, on_progress=on_progress, cancelled=cancelled)


def _setups(options: Namespace) -> list[Setup]:
    return [
        setup_of(options, batch=batch, precision=precision, gpus=gpus)
        for precision in options.precisions
        for gpus in options.gpus
        for batch in options.batches
        if batch >= gpus * options.accumulate
    ]


def _row(point: SweepPoint, *, sure: bool) -> dict[str, Any]:
    row = sweep_row(point.setup, point.device, point.xla, point.level, point.capacity_bytes, point.verdict)
    fits = None if point.verdict is None else point.verdict.yes(sure=sure)
    return row | {"fits": fits, "calibrated": point.calibrated}


def _show(rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("device", "precision"):
        table.add_column(name)
    for name in ("GPUs", "batch", "on each GPU", "in use", "band"):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in rows:
        style = STYLES[Verdict(row["verdict"])] if row["verdict"] else ""
        verdict = Text(row["verdict"] or "", style=style)
        band = f"{format_bytes(row['low_bytes'])} to {format_bytes(row['high_bytes'])}"
        cells = (row["gpus"], row["batch"], row["per_gpu_batch"], format_bytes(row["peak_bytes"]), band)
        table.add_row(row["device"], row["precision"], *map(str, cells), verdict)
    console.print(table)
    if any(row["calibrated"] for row in rows):
        console.print("calibrated with measurements: `plimsoll calibrate --list` shows them", style="dim")
