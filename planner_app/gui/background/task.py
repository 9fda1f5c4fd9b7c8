"""Work in its own thread, with progress and results delivered in the GUI's thread. It can be cancelled at any time."""

import threading
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from planner_app.errors import Cancelled, PlannerError
from planner_app.jobs.protocol import Progress


class Task(QObject):
    """Runs once. Exactly one of `finished`, `failed` and `stopped` comes last; none after `drop`.

    Attributes:
        delivered: The result has arrived in the GUI's thread. Until then the task must be kept, its thread over or not.
    """

    progressed = Signal(Progress)
    partial = Signal(object)  # a part of the result, as soon as it is available
    finished = Signal(object)  # what the work returned
    failed = Signal(str, str)  # a sentence, and detail
    stopped = Signal()
    _handed = Signal(object)
    _ended = Signal(object)

    def __init__(self, work: Callable[["Task"], object]) -> None:
        """`work` is called with this task in its thread: it reports through the task, and checks `cancelled`."""
        super().__init__()
        self.cancelled = threading.Event()
        self.delivered = self._dropped = False
        self._work = work
        self._thread = threading.Thread(target=self._run)
        self._handed.connect(self._on_handed)
        self._ended.connect(self._on_ended)

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        self.cancelled.set()

    def drop(self) -> None:
        """Cancel the task and ignore its further signals."""
        self._dropped = True
        self.cancelled.set()

    def wait(self) -> None:
        if self._thread.is_alive():
            self._thread.join()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def report(self, event: Progress) -> None:
        if not self.cancelled.is_set():
            self.progressed.emit(event)

    def publish(self, part: object) -> None:
        self._handed.emit(part)

    def _run(self) -> None:
        try:
            self._ended.emit(self._work(self))
        except Exception as error:  # bugs too are reported where the work was requested, with details
            self._ended.emit(error)

    def _on_handed(self, part: object) -> None:
        if not self._dropped:
            self.partial.emit(part)

    def _on_ended(self, outcome: object) -> None:
        self.wait()
        self.delivered = True
        if self._dropped:
            return
        if isinstance(outcome, Cancelled):
            self.stopped.emit()
        elif isinstance(outcome, PlannerError):
            self.failed.emit(str(outcome), outcome.detail)
        elif isinstance(outcome, Exception):
            self.failed.emit(f"A bug in Plimsoll: {type(outcome).__name__}: {outcome}", _trace(outcome))
        else:
            self.finished.emit(outcome)


def _trace(error: Exception) -> str:
    import traceback  # only needed for bugs

    return "".join(traceback.format_exception(error))
