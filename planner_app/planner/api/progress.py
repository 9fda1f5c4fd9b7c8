"""What is being done, shown where the caller looks: a terminal, a notebook, or a function of the caller's."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from planner_app.foreign_text import for_html, for_line
from planner_app.jobs.protocol import Progress

OnProgress = Callable[[Progress], None]
Shown = bool | OnProgress


def showing(shown: Shown) -> AbstractContextManager[OnProgress | None]:
    """`True`: in the terminal or notebook, `False`: nowhere; else the function that is called with each event."""
    if shown is False:
        return nullcontext(None)
    if shown is not True:
        return nullcontext(shown)
    if _in_notebook():
        return _in_cell()
    return _in_terminal() if sys.stderr is not None and sys.stderr.isatty() else nullcontext(None)


def _in_notebook() -> bool:
    """IPython is asked only where it runs already."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


@contextmanager
def _in_cell() -> Iterator[OnProgress]:
    """One line below the cell, empty again when all is done."""
    import IPython.display

    cells: Any = IPython.display
    handle = cells.display(cells.HTML(""), display_id=True)
    last = ""

    def show(event: Progress) -> None:
        nonlocal last
        if event.text != last:
            last = event.text
            handle.update(cells.HTML(f"<span style='opacity:.7'>{for_html(event.text)} …</span>"))

    try:
        yield show
    finally:
        handle.update(cells.HTML(""))


@contextmanager
def _in_terminal() -> Iterator[OnProgress]:
    from rich.console import Console

    with Console(stderr=True, highlight=False, markup=False).status("starting a worker") as status:
        yield lambda event: status.update(for_line(event.text))
