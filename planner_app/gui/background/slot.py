"""Holds one task at a time: a new one replaces the last."""

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from planner_app.gui.background.task import Task
from planner_app.jobs.protocol import Progress

Result = TypeVar("Result")


class TaskSlot(QObject):
    """Forwards the signals of the running task; `ended` comes before its last signal, and when it is dropped."""

    progressed = Signal(Progress)
    partial = Signal(object)  # a part of the result: of the type that the work hands over
    failed = Signal(str, str)  # a sentence, and detail
    stopped = Signal()
    ended = Signal()

    def __init__(self, start: Callable[[Task], None], parent: QObject) -> None:
        """`start` belongs to the session, which ends running tasks when it closes."""
        super().__init__(parent)
        self._start = start
        self._task: Task | None = None

    @property
    def busy(self) -> bool:
        return self._task is not None

    def run(self, work: Callable[[Task], Result], finished: Callable[[Result], None]) -> None:
        self.drop()
        task = self._task = Task(work)
        for last in (task.finished, task.failed, task.stopped):
            last.connect(self._on_ended)
        task.progressed.connect(self.progressed)
        task.partial.connect(self.partial)
        task.finished.connect(finished)
        task.failed.connect(self.failed)
        task.stopped.connect(self.stopped)
        self._start(task)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def drop(self) -> None:
        """Cancel the running task and ignore its further signals."""
        if self._task is not None:
            self._task.drop()
        self._on_ended()

    def _on_ended(self) -> None:
        self._task = None
        self.ended.emit()
