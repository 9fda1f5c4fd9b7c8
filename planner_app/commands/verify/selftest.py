"""`plimsoll selftest --on gpu:0`: small models through estimate and measurement; a page, and a file that calibrates."""

import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

import msgspec
from rich.table import Table
from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.commands.options.interrupt import interruptible
from planner_app.commands.options.ray import add_ray, tell
from planner_app.core.measure.calibration import Calibration
from planner_app.core.measure.measurement import parse_place
from planner_app.core.measure.selftest import Check, SelfTest
from planner_app.errors import SetupError
from planner_app.files.kept.selftests import write_page, write_selftest
from planner_app.fleet.cluster import Cluster
from planner_app.jobs.protocol import Progress
from planner_app.planner.fleet.nodes import selftest_of_kind
from planner_app.planner.measuring.selftest import MINUTES, selftest
from planner_app.reports.html.selftest_page import selftest_page
from planner_app.units import format_bytes

HELP = "try a GPU that is new to you: how far off estimates are on it, and by what"


def add(parser: ArgumentParser) -> None:
    parser.add_argument("--on", default="cpu", metavar="PLACE", help="gpu:0, or cpu (default): the GPUs' allocator")
    add_ray(parser)
    parser.add_argument("--minutes", type=float, default=MINUTES, metavar="N", help="time to take; default 10")
    parser.add_argument(
        "-o",
        "--output",
        default="selftest.json",
        metavar="FILE.json",
        help="for calibrate --import; the page is written beside it as .html",
    )
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    if not options.minutes > 0:
        raise SetupError(f"--minutes must be above 0, got {options.minutes:g}.")
    path = Path(options.output)
    page = path.with_suffix(".html")
    with interruptible() as cancelled, terminal.progress() as on_progress:
        found, calibrations = _tested(options, on_progress, cancelled)
    write_selftest(path, found, calibrations)
    write_page(page, selftest_page(found).encode())
    if options.json:
        terminal.write_json(msgspec.to_builtins(found) | {"verdict": found.verdict, "files": [str(path), str(page)]})
    else:
        _show(found)
        terminal.output().print(
            Text(f"Wrote {path} and {page}. plimsoll calibrate --import {path} calibrates later estimates with it.")
        )
    return 0


def _tested(
    options: Namespace, on_progress: Callable[[Progress], None], cancelled: threading.Event
) -> tuple[SelfTest, tuple[Calibration, ...]]:
    place = parse_place(options.on)
    if options.ray is None:
        return selftest(place, minutes=options.minutes, on_progress=on_progress, cancelled=cancelled)
    with Cluster(options.ray) as cluster:
        there = selftest_of_kind(
            cluster,
            options.kind,
            gpus=len(place.gpus),
            minutes=options.minutes,
            on_note=tell,
            on_progress=on_progress,
            cancelled=cancelled,
        )
    return there.result, there.calibrations


def _show(found: SelfTest) -> None:
    out = terminal.output()
    table = Table(box=None, pad_edge=False)
    for name in ("model", "estimated", "measured", "error", "off most"):
        table.add_column(name, justify="left" if name in ("model", "off most") else "right")
    for check in found.checks:
        table.add_row(*_cells(check))
    out.print(table)
    out.print(Text(found.verdict, style="bold"))
    if found.left_out:
        out.print(Text(f"No time was left for {', '.join(found.left_out)}.", style="yellow"))


def _cells(check: Check) -> tuple[Text | str, ...]:
    comparison = check.comparison
    if comparison is None:
        return check.model, "-", "-", "-", Text(check.problem, style="yellow")
    off = check.off
    said = f"{off[0]} by {format_bytes(abs(off[1]))}" if off and off[1] else ""
    style = "green" if comparison.in_band else "red"
    measured = sorted(comparison.measured_bytes)[len(comparison.measured_bytes) // 2]
    return (
        check.model,
        format_bytes(comparison.estimated_bytes),
        format_bytes(measured),
        Text(f"{comparison.error:+.1%}", style=style),
        said,
    )
