"""Opens model files in the background; only the latest request counts."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal

from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.background.task import Task
from planner_app.jobs.protocol import Progress
from planner_app.planner.opening import Opened, open_model


class Opening(QObject):
    """Attributes:
    path: Of the file being opened; empty if none is.
    """

    opened = Signal(str, Opened)  # with its path
    failed = Signal(str, str)  # why, detail
    progressed = Signal(str)

    def __init__(self, start: Callable[[Task], None]) -> None:
        super().__init__()
        self.path = ""
        self._slot = TaskSlot(start, self)
        self._slot.progressed.connect(self._on_progressed)
        self._slot.failed.connect(self._on_failed)

    def open(self, path: str, custom: str | None = None) -> None:
        self.path = path
        self._slot.run(partial(_open, path, custom), self._on_finished)

    def cancel(self) -> None:
        self._slot.drop()
        self.path = ""

    def _on_progressed(self, event: Progress) -> None:
        self.progressed.emit(event.text)

    def _on_finished(self, opened: Opened) -> None:
        path, self.path = self.path, ""
        self.opened.emit(path, opened)

    def _on_failed(self, why: str, detail: str) -> None:
        self.path = ""
        self.failed.emit(why, detail)


def _open(path: str, custom: str | None, task: Task) -> Opened:
    return open_model(path, custom, task.report, cancelled=task.cancelled)
