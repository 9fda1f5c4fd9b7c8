"""`plimsoll advise MODEL --batch 64 --device "NVIDIA L4"`: what to change so that it fits, cheapest first."""

import time
from argparse import ArgumentParser, Namespace

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.commands.options.planner import (
    DOES_NOT_FIT,
    FITS,
    add_limit,
    add_verdict,
    exit_code,
    limit_of,
    planner_of,
)
from planner_app.commands.options.setup import add_device, add_setup, add_sharding, device_of, setup_of
from planner_app.files.devices.catalogue import catalogue
from planner_app.planner.advise import advice_request
from planner_app.reports.advise_text import SoFar, show
from planner_app.reports.dicts import advice_dict

HELP = "suggest changes that make a setup fit"


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_setup(parser)
    add_sharding(parser)
    add_device(parser)
    add_limit(parser)
    add_verdict(parser)
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    started = time.monotonic()
    setup, device = setup_of(options), device_of(options)
    with terminal.progress() as on_progress:
        planner = planner_of(options, on_progress)
        others = catalogue().devices if device.cuda else ()
        with planner.workers:
            description = planner.describe(options.model, dict(setup.sizes), on_progress)
            request = advice_request(setup, device, description, others, limit_of(options))
            advice = planner.advise(request, on_progress=on_progress, on_part=SoFar(terminal.tell_so_far))
    if options.json:
        seconds = round(time.monotonic() - started, 3)
        terminal.write_json(advice_dict(advice, sure=options.sure) | {"seconds": seconds})
    else:
        show(advice, terminal.output())
    fits = exit_code(advice.verdict, options) == FITS
    return FITS if fits or any(option.verdict.yes(sure=options.sure) for option in advice.options) else DOES_NOT_FIT
