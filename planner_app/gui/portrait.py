"""Draws the window to a file without a screen: waits until everything has been drawn, then exits."""

import sys
from types import TracebackType

from PySide6.QtCore import QObject, QTimer

from planner_app.errors import PlannerError
from planner_app.gui.app import App
from planner_app.gui.look import export

LOOK_MS = 200
QUIET = 5  # idle checks in a row after which the last answer has been drawn


class Portrait(QObject):
    """Attributes:
    code: The exit code of the process: 1 if no picture was drawn.
    """

    def __init__(self, app: App, path: str) -> None:
        super().__init__(app)
        self._app, self._path, self._quiet = app, path, 0
        self.code = 1
        app.keeps_layout = False  # the user arranged the layout for another screen
        app.session.failed.connect(self._on_failed)
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._timer.start()

    def give_up(self, kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        """After a bug there is no picture."""
        sys.__excepthook__(kind, error, at)
        self._leave()

    def _look(self) -> None:
        session = self._app.session
        lines = session.choice.lines()
        done = session.opened is not None and all(session.memory(line) or session.trouble(line) for line in lines)
        self._quiet = self._quiet + 1 if done and session.answers.idle else 0
        if self._quiet >= QUIET or (not session.path and not session.opening):
            self._draw()

    def _draw(self) -> None:
        try:
            export.save(self._path, export.png_of(self._app.window))
            self.code = 0
        except PlannerError as error:
            sys.stderr.write(f"plimsoll: {error}\n")
        self._leave()

    def _on_failed(self, why: str) -> None:
        sys.stderr.write(f"plimsoll: {why}\n")
        self._leave()

    def _leave(self) -> None:
        self._timer.stop()
        self._app.window.close()
