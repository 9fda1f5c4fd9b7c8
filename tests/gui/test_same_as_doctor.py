"""Whatever the log, the app's page says what `plimsoll doctor` says: verdict, cause, advice, figures and lines."""

import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest
from PySide6.QtWidgets import QApplication
from rich.console import Console

from planner_app.commands.help.doctor import _read
from planner_app.core.doctor.remedies import ADVISE
from planner_app.gui.look.theme import LIGHT
from planner_app.gui.panels.doctor import tasks
from planner_app.gui.panels.doctor.values import IN_THE_APP, DoctorValues, Log
from planner_app.gui.panels.doctor.words import evidence_text, verdict_text
from planner_app.reports.doctor_text import show

LOGS = sorted((Path(__file__).parents[1] / "doctor" / "logs").iterdir())
NOTHING_SEEN = "No line of this log mentions memory."


class _Words(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.words += data.split()


def test_that_the_corpus_is_there():
    assert len(LOGS) > 120


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name.partition(".")[0])
def test_that_the_page_says_what_the_command_says(qapp: QApplication, log: Path):
    said = _read([str(log)], None)
    task = SimpleNamespace(report=lambda _: None, cancelled=Event())
    found = tasks.read(Log(path=str(log)), (), task)
    assert found == said
    values = DoctorValues(log=log.name, found=found)
    page = f"<p>{found.verdict}</p>" + verdict_text(values, LIGHT) + evidence_text(values, LIGHT)
    assert _in_the_app(page) == _in_a_terminal(said)


def _in_the_app(page: str) -> Counter[str]:
    return _counted(" ".join(_Words(page).words).replace(NOTHING_SEEN, ""))


def _in_a_terminal(said: object) -> Counter[str]:
    console = Console(width=sys.maxsize, force_terminal=False)
    with console.capture() as captured:
        show(said, console)
    return _counted(captured.get().replace(ADVISE, IN_THE_APP))


def _counted(text: str) -> Counter[str]:
    """The words, without the dashes that begin a point in a terminal."""
    return Counter(word for word in text.split() if word != "-")
