"""Output of the commands: tables on standard output, progress on standard error."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from planner_app.foreign_text import for_json, for_line, for_terminal
from planner_app.jobs.protocol import Progress

WIDTH_WITHOUT_TERMINAL = 120  # for a file or a pipe
NARROWEST, WIDEST = 20, 1000  # values of COLUMNS outside this range are ignored


class SafeConsole(Console):
    """Printed text may come from a file: it is never read as markup, and terminal escapes are removed."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, soft_wrap=False, markup=False, emoji=False)
        if not self.is_terminal and "COLUMNS" not in os.environ:
            self.width = WIDTH_WITHOUT_TERMINAL
        if not NARROWEST <= self.width <= WIDEST:
            self.width = WIDTH_WITHOUT_TERMINAL

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text, style, control) if control else Segment(for_terminal(text), style)


def output() -> Console:
    return SafeConsole()


def write_json(value: Any) -> None:
    sys.stdout.write(for_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()) + "\n")


def tell_so_far(text: str) -> None:
    """On standard error, above the line of progress; nothing if no person looks."""
    if sys.stderr.isatty():
        sys.stderr.write(for_terminal(text))


@contextmanager
def progress() -> Iterator[Callable[[Progress], None]]:
    """A status line on standard error that disappears when done; nothing if stderr is not a terminal."""
    console = SafeConsole(stderr=True)
    if not console.is_terminal:
        yield lambda _event: None
        return
    with console.status("starting a worker") as status:
        yield lambda event: status.update(for_line(event.text))
