"""Checks the Python that the user names, shows the result, and passes on the choice."""

import os
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.background.task import Task
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.python.view import PythonView
from planner_app.gui.state.session import Session
from planner_app.jobs import interpreter as python
from planner_app.jobs.interpreter import Python

FIND, OWN = "&Find one", "&Plimsoll's own"


class PythonPresenter(QObject):
    chosen = Signal(str)  # its path; empty to search for one

    def __init__(self, session: Session, view: PythonView, appearance: Appearance) -> None:
        super().__init__(view)
        self._view, self._appearance = view, appearance
        self._checking, self._looking = TaskSlot(session.start, self), TaskSlot(session.start, self)
        self._looking.partial.connect(self._on_found)
        view.path_changed.connect(self._on_path_changed)
        view.taken.connect(self.chosen)
        for slot in (self._checking, self._looking):
            view.finished.connect(slot.drop)
        self._looking.run(_look, lambda _: None)
        self._on_path_changed(view.chosen_path())

    def _on_path_changed(self, path: str) -> None:
        self._checking.drop()
        self._view.show_checking()
        if self._view.named.isChecked() and not path:
            self._view.show_result("Enter a Python, or choose one of those above.", None)
            return
        self._checking.run(partial(_checked, path), self._on_checked)

    def _on_checked(self, found: Python) -> None:
        theme = self._appearance.theme
        if found.problem:
            # Searching is allowed even if none is found yet.
            self._view.show_result(found.problem, theme.bad, usable=not self._view.chosen_path())
        else:
            self._view.show_result(f"This one works: {found.path} has {found.summary}.", theme.good, usable=True)

    def _on_found(self, found: Python) -> None:
        lacks = ", ".join(f"no {need.title}" for need in python.lacking(found.packages))
        self._view.add_found(found.path, ", ".join(filter(None, (found.summary, lacks))))


def make(session: Session, appearance: Appearance, parent: QWidget, chosen: str) -> tuple[PythonView, PythonPresenter]:
    named = os.environ.get(python.VARIABLE)
    note = f"{python.VARIABLE} is set to {named}, which takes precedence over the choice here." if named else ""
    view = PythonView(parent, chosen, FIND if python.is_frozen() else OWN, note)
    return view, PythonPresenter(session, view, appearance)


def _checked(path: str, _: Task) -> Python:
    return python.check(path) if path else python.find(chosen="")


def _look(task: Task) -> None:
    for found in python.look_around():
        if task.cancelled.is_set():
            return
        task.publish(found)
