"""Opens model files in the background; only the latest request counts."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Signal

from planner_app.core.model.description import CheckedModel
from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.background.task import Task
from planner_app.gui.state.source import ModelSource
from planner_app.jobs.protocol import Progress
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.opening import Opened, check_model, describe_model, file_name
from planner_app.planner.planner import Planner


@dataclass(frozen=True, slots=True)
class Found:
    opened: Opened
    planner: Planner


class Opening(QObject):
    """Attributes:
    source: What is being opened; None if nothing is.
    """

    checked = Signal(ModelSource, CheckedModel)  # read, but not described yet
    opened = Signal(ModelSource, Found)
    failed = Signal(ModelSource, str, str)  # why, detail
    progressed = Signal(str)

    def __init__(self, start: Callable[[Task], None], idle_worker: Callable[[], WarmWorker | None]) -> None:
        super().__init__()
        self._idle_worker = idle_worker
        self.source: ModelSource | None = None
        self._slot = TaskSlot(start, self)
        self._slot.progressed.connect(self._on_progressed)
        self._slot.partial.connect(self._on_partial)
        self._slot.failed.connect(self._on_failed)

    def open(self, source: ModelSource) -> None:
        self.source = source
        self._slot.run(partial(_open, source, self._idle_worker), self._on_finished)

    def cancel(self) -> None:
        self._slot.drop()
        self.source = None

    def _taken(self) -> ModelSource:
        source, self.source = self.source, None
        assert source is not None
        return source

    def _on_progressed(self, event: Progress) -> None:
        self.progressed.emit(event.text)

    def _on_partial(self, checked: CheckedModel) -> None:
        if self.source is not None:
            self.checked.emit(self.source, checked)

    def _on_finished(self, found: Found) -> None:
        self.opened.emit(self._taken(), found)

    def _on_failed(self, why: str, detail: str) -> None:
        self.failed.emit(self._taken(), why, detail)


def _open(source: ModelSource, idle_worker: Callable[[], WarmWorker | None], task: Task) -> Found:
    checked = check_model(source.path, source.custom, task.report, task.cancelled, trust=source.trust, data=source.data)
    task.publish(checked)
    description = describe_model(checked, source.path, None, task.report, task.cancelled, idle_worker())
    planner = Planner(checked, file=file_name(source.path))
    planner.lines.load()  # here, not in the drawing thread
    return Found(Opened(checked, description), planner)
