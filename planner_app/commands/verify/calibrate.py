"""`plimsoll calibrate MODEL RESULT`: compare an estimate with what was measured, and calibrate later ones."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.core.measure.calibration import Calibration, sentence
from planner_app.core.measure.compare import Comparison
from planner_app.core.measure.measurement import Measurement
from planner_app.core.measure.sample import why_not_calibrating
from planner_app.errors import PlannerError
from planner_app.files.kept.calibrations import Calibrations
from planner_app.planner.measuring.compare import calibrate_with, compare_with_estimate
from planner_app.planner.measuring.training_runs import read_run
from planner_app.planner.opening import check_model
from planner_app.reports.comparison_table import show
from planner_app.units import format_bytes

HELP = "compare estimates with measurements, and calibrate later estimates"


def add(parser: ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", metavar="MODEL", help=arguments.MODEL_HELP)
    parser.add_argument(
        "results",
        nargs="*",
        metavar="RESULT",
        help="a file written by plimsoll measure -o or plan.watch(), or the folder of a plimsoll run",
    )
    arguments.add_code(parser)
    parser.add_argument("--compare", action="store_true", help="compare only, without changing calibrations")
    parser.add_argument("--list", action="store_true", help="list the calibrations")
    parser.add_argument("--forget", metavar="DEVICE", help='delete the calibrations of one device, or "all"')
    parser.add_argument("--export", metavar="FILE.json", help="write all calibrations to a file, for another machine")
    parser.add_argument("--import", dest="take_in", metavar="FILE.json", help="add the calibrations of another machine")
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    store, out = Calibrations(), terminal.output()
    if options.list:
        return _list(store, options, out)
    if options.forget:
        gone = store.forget(None if options.forget.lower() == "all" else options.forget)
        return _said(options, out, {"forgotten": gone}, f"{gone} calibrations forgotten.")
    if options.export:
        count = store.export(Path(options.export))
        return _said(options, out, {"exported": count}, f"Wrote {options.export}: {count} calibrations.")
    if options.take_in:
        taken = store.import_file(Path(options.take_in))
        told = "\n".join(map(sentence, taken)) or "Nothing to import."
        return _said(options, out, {"imported": [_as_json(each) for each in taken]}, told)
    if not options.model or not options.results:
        raise PlannerError("Name a model and its measurement: plimsoll calibrate MODEL RESULT, or use --list.")
    return _calibrate(store, options, out)


def _calibrate(store: Calibrations, options: Namespace, out: Console) -> int:
    compared: list[tuple[Measurement, Comparison]] = []
    with terminal.progress() as on_progress:
        model = check_model(options.model, options.custom, on_progress, trust=options.trust, data=options.data)
        for name in options.results:
            measurement = read_run(Path(name))
            compared.append((measurement, compare_with_estimate(model, measurement, on_progress=on_progress)))
    useful = [each for each in compared if not options.compare and not why_not_calibrating(each[0])]
    changed = [calibrate_with(store, *each) for each in useful]
    if options.json:
        told = [_comparison_json(measurement, comparison) for measurement, comparison in compared]
        terminal.write_json({"comparisons": told, "calibrations": [_as_json(each) for each in changed]})
        return 0
    for measurement, comparison in compared:
        show(measurement, comparison, out)
        if why := not options.compare and why_not_calibrating(measurement):
            out.print(Text(f"! Nothing was calibrated. {why}", style="yellow"))
    for each in dict.fromkeys(map(sentence, changed)):
        out.print(Text(each, style="bold"))
    return 0


def _list(store: Calibrations, options: Namespace, out: Console) -> int:
    found = store.all()
    if options.json:
        terminal.write_json({"calibrations": [_as_json(each) for each in found]})
        return 0
    if not found:
        out.print(
            "No calibrations yet. Run plimsoll measure MODEL -o RESULT.json, then plimsoll calibrate MODEL RESULT.json."
        )
    for each in found:
        out.print(Text(each.title, style="bold"))
        out.print(Text(f"  {sentence(each)}"))
        for sample in each.samples:
            peak = format_bytes(max(sample.measured_bytes))
            out.print(Text(f"  {sample.model}, {sample.setup}: {peak}, {sample.ratio - 1:+.1%}", style="dim"))
    return 0


def _said(options: Namespace, out: Console, told: dict[str, Any], words: str) -> int:
    if options.json:
        terminal.write_json(told)
    else:
        out.print(Text(words))
    return 0


def _as_json(calibration: Calibration) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(calibration)
    return built | {
        "date": calibration.date,
        "ratio": round(calibration.ratio, 6),
        "outside_bytes": calibration.outside_bytes,
        "limit_bytes": calibration.limit_bytes,
    }


def _comparison_json(measurement: Measurement, comparison: Comparison) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(comparison)
    return built | {
        "error": round(comparison.error, 6),
        "in_band": comparison.in_band,
        "batch": measurement.setup.batch,
        "device": measurement.hardware,
        "measured_at": measurement.measured_at,
    }
