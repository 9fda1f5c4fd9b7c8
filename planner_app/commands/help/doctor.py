"""`plimsoll doctor train.log`: what ran out of memory, where, for which layer, and the lines that show it."""

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

import msgspec

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.commands.options.setup import add_setup, positive, setup_of
from planner_app.core.doctor import Diagnosis, pieces
from planner_app.core.doctor.comparison import Comparison
from planner_app.core.model.description import ModelDescription
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.logs import diagnosed, read_log
from planner_app.planner.diagnose import beside_model
from planner_app.planner.opening import open_model
from planner_app.planner.planner import Planner
from planner_app.reports.doctor_text import show

HELP = "read a log that ends in out of memory"
STANDARD_INPUT = "-"


def add(parser: ArgumentParser) -> None:
    parser.add_argument("log", metavar="LOG", help="a log of TensorFlow 1.15 to 2.22, or - for standard input")
    parser.add_argument("--model", metavar="MODEL", help=f"the model that was trained: {arguments.MODEL_HELP}")
    arguments.add_code(parser)
    parser.add_argument("--batch", type=positive, metavar="N", help="samples per update; default: what the log tells")
    parser.add_argument("--device", metavar="NAME", help="the GPU; default: what the log tells")
    add_setup(parser, batch=False)
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    setup = setup_of(options, batch=options.batch or options.gpus * options.accumulate)
    device = find_device(options.device) if options.device else None
    with terminal.progress() as on_progress:
        opened = None
        if options.model:
            opened = open_model(
                options.model, options.custom, on_progress, dict(setup.sizes), trust=options.trust, data=options.data
            )
        found = _read(options.log, opened.description if opened else None)
        compared = None
        if opened is not None:
            compared = beside_model(
                found,
                Planner(opened.checked),
                opened.description,
                setup,
                batch_known=options.batch is not None,
                device=device,
                on_progress=on_progress,
            )
    if options.json:
        terminal.write_json(as_json(found, compared))
    else:
        show(found, compared, terminal.output())
    return 0


def _read(path: str, description: ModelDescription | None) -> Diagnosis:
    layers = [layer.path for layer in description.layers] if description else []
    if path != STANDARD_INPUT:
        return read_log(path, layers)
    if sys.stdin is None:
        raise PlannerError("Standard input is closed, so there is no log to read: name a file, or pipe one in.")
    try:
        return diagnosed(pieces(sys.stdin.buffer), layers)
    except OSError as error:
        raise PlannerError(f"Standard input can't be read: {error.strerror or error}. Name a file instead.") from error


def as_json(found: Diagnosis, compared: Comparison | None) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(found)
    return told | {"comparison": msgspec.to_builtins(compared)}
