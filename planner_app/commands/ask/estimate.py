"""`plimsoll estimate MODEL --batch 32 --device "NVIDIA L4"`: how much memory one setup needs, and what for."""

import time
from argparse import ArgumentParser, Namespace

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.commands.options.planner import add_limit, add_verdict, exit_code, limit_of, planner_of
from planner_app.commands.options.setup import add_device, add_setup, add_sharding, device_of, setup_of
from planner_app.reports.dicts import estimate_dict
from planner_app.reports.estimate_table import show

HELP = "estimate the memory of one setup"


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
    setup, device, limit = setup_of(options), device_of(options), limit_of(options)
    with terminal.progress() as on_progress:
        result = planner_of(options, on_progress).estimate(setup, device, limit, on_progress=on_progress)
    if options.json:
        seconds = round(time.monotonic() - started, 3)
        terminal.write_json(estimate_dict(result, sure=options.sure) | {"seconds": seconds})
    else:
        show(result, terminal.output())
    return exit_code(result.verdict, options)
