"""`plimsoll doctor-env`: whether this computer has what planning needs, and what to do if it doesn't."""

from argparse import ArgumentParser, Namespace

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.core.checkup import MARKS, Finding, State, can_plan, checkup, summary
from planner_app.planner.look import look_around, screen

HELP = "check this computer: Python, TensorFlow, GPUs, window, folders"
STYLES = {State.FINE: "green", State.NOTE: "yellow", State.MISSING: "bold red"}


def add(parser: ArgumentParser) -> None:
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    with terminal.progress() as on_progress:
        found = checkup(look_around(screen(), on_progress))
    if options.json:
        terminal.write_json({"can_plan": can_plan(found), "findings": msgspec.to_builtins(found)})
    else:
        show(found, terminal.output())
    return 0 if can_plan(found) else 1


def show(found: tuple[Finding, ...], console: Console) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    for finding in found:
        mark = Text(MARKS[finding.state], style=STYLES[finding.state])
        table.add_row(mark, Text(finding.name), Text(finding.text, overflow="fold"))
    console.print(table)
    console.print(Text(f"\n{summary(found)}", style="green" if can_plan(found) else "bold red"))
