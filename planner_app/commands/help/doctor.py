"""`plimsoll doctor train.log`: what ran out of memory, who held it, for which layer, and the lines that show it;
`plimsoll doctor --now`: who holds the memory of this machine and its GPUs at this moment."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import msgspec

from planner_app.commands import terminal
from planner_app.commands.help import doctor_now
from planner_app.commands.options import arguments
from planner_app.commands.options.setup import add_setup, positive, setup_of
from planner_app.core.advise import Advice
from planner_app.core.doctor import Diagnosis
from planner_app.core.doctor.comparison import Comparison
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.logs import diagnosed_stream, most_telling, read_log
from planner_app.planner.diagnose import advice_beside, as_trained, beside_model
from planner_app.planner.opening import Opened, open_model
from planner_app.planner.planner import Planner
from planner_app.reports.advise_text import SoFar
from planner_app.reports.dicts import advice_dict
from planner_app.reports.doctor_text import show, show_advice, show_comparison

HELP = "diagnose a log that ends in out of memory, or inspect a running training"
STANDARD_INPUT = "-"
MOST_DIGITS = 10  # of a process' number


def add(parser: ArgumentParser) -> None:
    parser.add_argument(
        "logs",
        metavar="LOG",
        nargs="*",
        help="a log, notebook or archive of logs; several are those of one run; - for standard input; "
        "the number of a process looks at it, as --pid does",
    )
    parser.add_argument("--model", metavar="MODEL", help=f"the model that was trained: {arguments.MODEL_HELP}")
    arguments.add_code(parser)
    parser.add_argument("--batch", type=positive, metavar="N", help="samples per update; default: taken from the log")
    parser.add_argument("--device", metavar="NAME", help="the GPU; default: taken from the log")
    add_setup(parser, batch=False)
    doctor_now.add(parser)
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    if not options.pid and (pid := _process(options.logs)) is not None:
        options.pid = pid
    if options.now or options.pid:
        return doctor_now.run(options)
    if not options.logs:
        raise PlannerError("There is nothing to read: give a log (or - for standard input), or --now for this machine.")
    setup = setup_of(options, batch=options.batch or options.gpus * options.accumulate)
    device = find_device(options.device) if options.device else None
    opened = None
    if options.model:
        with terminal.progress() as on_progress:
            opened = open_model(
                options.model, options.custom, on_progress, dict(setup.sizes), trust=options.trust, data=options.data
            )
    found = _read(options.logs, opened)
    if not options.json:
        show(found, terminal.output())  # what is known is shown before the estimate is worked out
    compared, advice = (None, None) if opened is None else _beside(found, opened, setup, device, options)
    if options.json:
        terminal.write_json(as_json(found, compared, advice))
    return 0


def _beside(
    found: Diagnosis, opened: Opened, setup: Setup, device: Device | None, options: Namespace
) -> tuple[Comparison | None, Advice | None]:
    """The estimate, then what each change would make of it; each is shown as soon as it is there."""
    planner, known = Planner(opened.checked), options.batch is not None
    with terminal.progress() as on_progress:
        compared = beside_model(
            found, planner, opened.description, setup, batch_known=known, device=device, on_progress=on_progress
        )
    if compared is None:
        return None, None
    if not options.json:
        show_comparison(compared, terminal.output())
    trained = as_trained(setup, found, opened.description, batch_known=known)
    with terminal.progress() as on_progress:
        advice = advice_beside(
            found,
            compared,
            planner,
            opened.description,
            trained,
            device=device,
            on_progress=on_progress,
            on_part=SoFar(terminal.tell_so_far),
        )
    if advice is not None and not options.json:
        show_advice(advice, terminal.output())
    return compared, advice


def _process(logs: list[str]) -> int | None:
    """Of `plimsoll doctor 4711`, unless a file is called so."""
    if len(logs) != 1 or not (logs[0].isascii() and logs[0].isdecimal()) or Path(logs[0]).exists():
        return None
    return int(logs[0][:MOST_DIGITS]) or None


def _read(paths: list[str], opened: Opened | None) -> Diagnosis:
    layers = [layer.path for layer in opened.description.layers] if opened else []
    if len(paths) == 1:
        return _of(paths[0], layers)
    return most_telling([(path, _of(path, layers)) for path in paths])


def _of(path: str, layers: list[str]) -> Diagnosis:
    if path != STANDARD_INPUT:
        return read_log(path, layers)
    if sys.stdin is None:
        raise PlannerError("Standard input is closed, so there is no log to read: name a file, or pipe one in.")
    try:
        return diagnosed_stream(sys.stdin.buffer, layers)
    except OSError as error:
        raise PlannerError(f"Standard input can't be read: {error.strerror or error}. Name a file instead.") from error


def as_json(found: Diagnosis, compared: Comparison | None, advice: Advice | None = None) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(found)
    beside = {"comparison": msgspec.to_builtins(compared), "advice": None if advice is None else advice_dict(advice)}
    return told | beside
