"""What the commands write: tables on standard output, progress on standard error."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape

from planner_app.jobs.protocol import Progress

WIDTH_WITHOUT_TERMINAL = 120  # of a file or a pipe, where nobody says


def output() -> Console:
    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_WITHOUT_TERMINAL
    return console


def write_json(value: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


@contextmanager
def progress() -> Iterator[Callable[[Progress], None]]:
    """A line on standard error that says what is being done, gone when it is done; nothing if no person looks."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _event: None
        return
    with console.status("starting a worker") as status:
        yield lambda event: status.update(escape(event.text))
