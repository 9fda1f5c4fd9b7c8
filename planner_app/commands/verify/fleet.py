"""`plimsoll fleet --ray 10.0.0.5:6379`: a Ray cluster's machines; with models, what training takes on each kind."""

from argparse import ArgumentParser, Namespace
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from planner_app.cli import INTERRUPTED
from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.commands.options.interrupt import interruptible
from planner_app.commands.options.ray import add_address, tell
from planner_app.commands.options.setup import add_setup, names, numbers, setup_of
from planner_app.core.measure.measurement import Order
from planner_app.errors import Cancelled, SetupError
from planner_app.files.kept.calibrations import Calibrations
from planner_app.files.kept.fleet_results import FleetResults
from planner_app.files.kept.measurements import summary
from planner_app.fleet.cluster import HERE, Cluster
from planner_app.planner.fleet.measuring import Outcome, Point, measure_all
from planner_app.planner.fleet.nodes import KnownNode, TestedNode, keep_calibrations, known_nodes, selftest_nodes
from planner_app.planner.measuring.selftest import MINUTES
from planner_app.planner.opening import check_model
from planner_app.units import format_bytes, parse_bytes

HELP = "list the machines of a Ray cluster, and measure models on all of them"
ERROR = 1


def add(parser: ArgumentParser) -> None:
    parser.add_argument("models", nargs="*", metavar="MODEL", help=arguments.MODEL_HELP)
    arguments.add_code(parser)
    add_address(parser)
    parser.add_argument("--batch", type=numbers, default=(), metavar="N,...", help="samples per update; one or more")
    parser.add_argument(
        "--kinds", type=names, default=("",), metavar="NAME,...", help="GPU kinds as Ray has them (L4), or resources"
    )
    parser.add_argument(
        "--on", choices=["cpu", "gpu"], default="gpu", help="gpu (default), or cpu through its allocator"
    )
    parser.add_argument("--limit", metavar="SIZE", help="the memory that the allocator may take, as in 8GiB")
    add_setup(parser, batch=False)
    parser.add_argument("--fresh", action="store_true", help="measure again what an earlier run has found")
    parser.add_argument("--selftest", action="store_true", help="small models on every machine; calibrates estimates")
    parser.add_argument("--minutes", type=float, default=MINUTES, metavar="N", help="for --selftest; default 10")
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    if options.models and not options.batch:
        raise SetupError("Measuring needs the samples per update: add --batch N.")
    if not options.minutes > 0:
        raise SetupError(f"--minutes must be above 0, got {options.minutes:g}.")
    with interruptible() as cancelled, terminal.progress() as on_progress, Cluster(options.ray or HERE) as cluster:
        if options.models:
            points = _points(options)
            kept = FleetResults()
            if options.fresh:
                for point in points:
                    kept.forget(point.key)
            try:
                outcomes = measure_all(
                    cluster, points, kept=kept, on_note=tell, on_progress=on_progress, cancelled=cancelled
                )
            except Cancelled:
                tell("cancelled; what was measured is kept: repeat the command to go on.")
                return INTERRUPTED
            for point in points if all(each.measurement for each in outcomes) else ():
                kept.forget(point.key)
        else:
            nodes = known_nodes(cluster, cancelled)
            tested: tuple[TestedNode, ...] = ()
            if options.selftest:
                able = [each.node for each in nodes if each.about is not None and each.node.cpus]
                tested = selftest_nodes(
                    cluster, able, minutes=options.minutes, on_note=tell, on_progress=on_progress, cancelled=cancelled
                )
    if options.models:
        return _show_outcomes(outcomes, options)
    return _show_nodes(nodes, tested, options)


def _points(options: Namespace) -> list[Point]:
    limit = parse_bytes(options.limit) if options.limit else None
    on_gpu = options.on == "gpu"
    order = Order.INLINE if limit is not None and not on_gpu and options.gpus == 1 else Order.ORDINARY
    models = [check_model(name, options.custom, trust=options.trust, data=options.data) for name in options.models]
    return [
        Point(model, setup_of(options, batch=batch), kind, on_gpu, limit, order)
        for model in models
        for batch in options.batch
        for kind in options.kinds
    ]


def _show_outcomes(outcomes: tuple[Outcome, ...], options: Namespace) -> int:
    if options.json:
        terminal.write_json({"measurements": [_outcome_json(each) for each in outcomes]})
    else:
        table = _table("model", "kind", "host", "device", "batch>", "in use>", "samples per second>", "")
        for each in outcomes:
            table.add_row(*_cells(each))
        terminal.output().print(table)
    return ERROR if any(each.measurement is None for each in outcomes) else 0


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    point, found = outcome.point, outcome.measurement
    head = {"model": point.model.name, "kind": point.kind, "batch": point.setup.batch, "problem": outcome.problem}
    return head | {"attempts": outcome.attempts, "result": None if found is None else summary(found)}


def _cells(outcome: Outcome) -> tuple[Text | str, ...]:
    point, found = outcome.point, outcome.measurement
    head = (point.model.name, point.kind)
    if found is None:
        return (*head, "", "", str(point.setup.batch), "", "", Text(outcome.problem, style="yellow"))
    peak, speed = found.peak_bytes, found.samples_per_second
    return (
        *head,
        found.host,
        found.hardware,
        str(point.setup.batch),
        "" if peak is None else format_bytes(peak),
        "" if speed is None else f"{speed:.4g}",
        Text("out of memory", style="red") if found.oom is not None else Text("fits", style="green"),
    )


def _show_nodes(nodes: tuple[KnownNode, ...], tested: tuple[TestedNode, ...], options: Namespace) -> int:
    keep_calibrations(tested, Calibrations())
    if options.json:
        terminal.write_json({"nodes": msgspec.to_builtins(nodes), "selftests": msgspec.to_builtins(tested)})
        return 0
    table = _table("host", "CPUs>", "GPUs", "memory of each>", "driver", "kinds", "TensorFlow", "plimsoll", "")
    for each in nodes:
        table.add_row(*_node_cells(each))
    out = terminal.output()
    out.print(table)
    for test in tested:
        said = test.tested.result.verdict if test.tested else test.problem
        out.print(Text(f"{test.node.host} ({', '.join(test.node.kinds) or 'no kind'}): {said}"))
    return 0


def _node_cells(known: KnownNode) -> tuple[Text | str, ...]:
    node, about = known.node, known.about
    kinds, cpus = ", ".join(node.kinds), f"{node.cpus:g}"
    if about is None:
        return node.host, cpus, f"{node.gpus:g}", "", "", kinds, "", "", Text(known.problem, style="yellow")
    memory = ", ".join("?" if each is None else format_bytes(each) for each in about.memory_bytes)
    gpus = ", ".join(about.gpus) or "none"
    problem = Text(about.problem, style="yellow")
    return about.host, cpus, gpus, memory, about.driver or "", kinds, about.tensorflow, about.plimsoll, problem


def _table(*columns: str) -> Table:
    """A name that ends in ">" is of numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name.rstrip(">"), justify="right" if name.endswith(">") else "left")
    return table
