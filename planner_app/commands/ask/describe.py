"""`plimsoll describe MODEL`: layers, shapes, parameters and warnings, without reading any weights."""

from argparse import ArgumentParser, Namespace

import msgspec

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.commands.options.setup import add_sizes, sizes_of
from planner_app.planner.opening import open_model
from planner_app.reports.description_table import show

HELP = "show a model's layers, shapes and parameters"


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_sizes(parser)
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    with terminal.progress() as on_progress:
        opened = open_model(
            options.model,
            options.custom,
            on_progress,
            dict(sizes_of(options)),
            trust=options.trust,
            data=options.data,
        )
    if options.json:
        terminal.write_json(msgspec.to_builtins(opened.description) | {"params": opened.description.params})
    else:
        show(opened.description, terminal.output())
    return 0
