"""Opens model files in the background, the last one asked for and no other."""

from functools import partial

from PySide6.QtCore import QObject, Signal

from planner_app.gui.background.task import Task
from planner_app.jobs.protocol import Progress
from planner_app.planner.opening import Opened, open_model


class Opening(QObject):
    opened = Signal(str, object)  # path, Opened
    failed = Signal(str, str)  # why, detail
    progressed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.path = ""  # of what is being opened; empty if nothing is
        self._task: Task | None = None
        self._leaving: list[Task] = []

    def open(self, path: str, custom: str | None = None) -> None:
        self.cancel()
        self.path = path
        self._task = Task(partial(_open, path, custom))
        self._task.progressed.connect(self._on_progressed)
        self._task.finished.connect(self._on_finished)
        self._task.failed.connect(self._on_failed)
        self._task.start()

    def cancel(self) -> None:
        self._leaving = [task for task in self._leaving if task.alive]
        if self._task is not None:
            self._task.drop()
            self._leaving.append(self._task)
            self._task, self.path = None, ""

    def close(self) -> None:
        self.cancel()
        for task in self._leaving:
            task.wait()
        self._leaving.clear()

    @property
    def idle(self) -> bool:
        return self._task is None and not any(task.alive for task in self._leaving)

    def _on_progressed(self, event: Progress) -> None:
        self.progressed.emit(event.text)

    def _on_finished(self, opened: Opened) -> None:
        path = self._end()
        self.opened.emit(path, opened)

    def _on_failed(self, why: str, detail: str) -> None:
        self._end()
        self.failed.emit(why, detail)

    def _end(self) -> str:
        path, self._task, self.path = self.path, None, ""
        return path


def _open(path: str, custom: str | None, task: Task) -> Opened:
    return open_model(path, custom, task.tell, cancelled=task.cancelled)
