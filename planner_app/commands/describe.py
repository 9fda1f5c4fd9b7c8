"""`plimsoll describe MODEL`: layers, shapes, parameters and warnings, without reading a weight."""

from argparse import ArgumentParser, Namespace

import msgspec

from planner_app.commands import arguments, terminal
from planner_app.commands.description_table import show
from planner_app.commands.setup_arguments import add_sizes, sizes_of
from planner_app.jobs.open import open_model

HELP = "show a model's layers, shapes and parameters"


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_sizes(parser)
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    with terminal.progress() as on_progress:
        opened = open_model(options.model, options.custom, on_progress, dict(sizes_of(options)))
    if options.json:
        terminal.write_json(msgspec.to_builtins(opened.description) | {"params": opened.description.params})
    else:
        show(opened.description, terminal.output())
    return 0
