"""`plimsoll advise MODEL --batch 64 --device "NVIDIA L4"`: what to change so that it fits, the cheapest first."""

import time
from argparse import ArgumentParser, Namespace
from typing import Any

import msgspec

from planner_app.commands import terminal
from planner_app.commands.options import arguments, calibrated
from planner_app.commands.options.setup import add_device, add_setup, device_of, setup_of
from planner_app.core.advise import Advice, Option
from planner_app.files.devices.catalogue import catalogue
from planner_app.planner.advise import advice_for, want_of
from planner_app.planner.opening import open_model
from planner_app.planner.tracer import Tracer
from planner_app.reports.advise_text import show
from planner_app.units import parse_bytes

HELP = "say what to change so that it fits"
DOES_NOT_FIT = 3


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_setup(parser)
    add_device(parser)
    parser.add_argument(
        "--limit", metavar="SIZE", help="what the allocator may take, as in 8GiB; default: the device's"
    )
    calibrated.add(parser)
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    started = time.monotonic()
    setup, device = setup_of(options), device_of(options)
    limit = parse_bytes(options.limit) if options.limit else None
    with terminal.progress() as on_progress:
        opened = open_model(options.model, options.custom, on_progress, dict(setup.sizes))
        tracer = Tracer(opened.checked)
        others = catalogue().devices if device.cuda else ()
        want = want_of(setup, device, opened.description, others, limit)
        advice = advice_for(tracer, want, taught=calibrated.taught(options), on_progress=on_progress)
        tracer.keep()
    if options.json:
        terminal.write_json(as_json(advice) | {"seconds": round(time.monotonic() - started, 3)})
    else:
        show(advice, terminal.output())
    return 0 if advice.fits or advice.options else DOES_NOT_FIT


def as_json(advice: Advice) -> dict[str, Any]:
    return {
        "fits": advice.fits,
        "device": advice.want.device.name,
        "batch": advice.want.setup.batch,
        "peak_bytes": advice.before_bytes,
        "limit_bytes": advice.limit_bytes,
        "options": [_option(option) for option in advice.options],
        "helpful": [_option(option) for option in advice.helpful],
        "calibrated": advice.calibrated or None,
        "hints": msgspec.to_builtins(advice.hints),
    }


def _option(option: Option) -> dict[str, Any]:
    setup = option.setup
    return {
        "changes": [
            {"text": change.text, "code": list(change.code), "caveat": change.caveat, "kind": change.cost.name.lower()}
            for change in option.changes
        ],
        "cost": option.cost,
        "device": option.device.name,
        "setup": msgspec.to_builtins(setup),
        "per_gpu_batch": setup.per_gpu_batch,
        "jit": option.xla,
        "before_bytes": option.before_bytes,
        "after_bytes": option.after_bytes,
        "high_bytes": option.high_bytes,
        "saved_bytes": option.saved_bytes,
        "limit_bytes": option.limit_bytes,
        "fits": option.fits,
        "slower": option.slower,
        "more_arithmetic": option.more_arithmetic,
        "environment": dict(option.environment),
    }
