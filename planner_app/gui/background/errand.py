"""The one thing a panel has done for it at a time: the next takes the place of the last."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from planner_app.gui.background.task import Task
from planner_app.gui.session import Session


class Errand(QObject):
    """Signals are those of the task that runs; `ended` comes before the last of them, and when it is dropped."""

    progressed = Signal(object)
    told = Signal(object)
    failed = Signal(str, str)
    stopped = Signal()
    ended = Signal()

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._task: Task | None = None

    @property
    def busy(self) -> bool:
        return self._task is not None

    def run(self, deed: Callable[[Task], object], finished: Callable[..., None]) -> None:
        self.drop()
        task = self._task = Task(deed)
        for last in (task.finished, task.failed, task.stopped):
            last.connect(self._on_ended)
        task.progressed.connect(self.progressed)
        task.told.connect(self.told)
        task.finished.connect(finished)
        task.failed.connect(self.failed)
        task.stopped.connect(self.stopped)
        self._session.start(task)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def drop(self) -> None:
        if self._task is not None:
            self._task.drop()
        self._on_ended()

    def _on_ended(self) -> None:
        self._task = None
        self.ended.emit()
