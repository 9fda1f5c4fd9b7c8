"""A worker that stays alive: TensorFlow is imported and the model built, ready for the next request."""

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeVar

from planner_app.errors import Cancelled, WorkerError
from planner_app.jobs import launch
from planner_app.jobs.exchange import TICK_SECONDS
from planner_app.jobs.job import Job, result_of
from planner_app.jobs.process import Child
from planner_app.jobs.protocol import Failed, Finished, Limits, Progress, Request

T = TypeVar("T")

CLOSE_SECONDS = 2.0


class WarmWorker:
    """Keeps one child for successive jobs. Jobs of several threads wait for each other.

    A child that died, was cancelled, exceeded its limits or failed unexpectedly is replaced. So is one whose sandbox
    does not fit the next request, since what a child may read is fixed when it starts.
    """

    one_request = False

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = command
        self._busy = threading.Lock()
        self._owner: int | None = None
        self._current: threading.Event | None = None
        self._child: Child | None = None
        self._fit: object = None
        self._closed = False

    def job(self, request: Request, limits: Limits | None = None, cancelled: threading.Event | None = None) -> Job:
        return Job(request, limits, source=self, cancelled=cancelled)

    def run(
        self,
        request: Request,
        result_type: type[T],
        limits: Limits | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> T:
        return result_of(self.job(request, limits, cancelled), result_type, on_progress)

    @property
    def started(self) -> bool:
        return self._child is not None

    def close(self) -> None:
        """Cancel the running job and end the child. May be called from any thread."""
        self._closed = True
        if self._current is not None:
            self._current.set()
        child = self._child
        if not self._busy.acquire(timeout=CLOSE_SECONDS):
            # Nothing iterates over this job any more: kill its child here; it is cleaned up when the job is dropped.
            if child is not None:
                child.kill()
            return
        try:
            if self._child is not None:
                self._child.end()
                self._child = None
        finally:
            self._busy.release()

    def __enter__(self) -> "WarmWorker":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def take(self, request: Request, limits: Limits, cancelled: threading.Event) -> tuple[Child, bool]:
        self._wait(cancelled)
        try:
            more = request.environment()
            fit = (request.reads(), request.gpu, more, launch.bounds(limits))
            child = self._child
            if child is not None and (fit != self._fit or not child.rests()):
                child.end()
                child = None
            used = child is not None
            if child is None:
                child = Child(self._command or launch.worker_command(), limits, gpu=request.gpu, more=more)
            self._child, self._fit = child, fit
            return child, used
        except BaseException:
            self._release()
            raise

    def give_back(self, child: Child, last: Finished | Failed | None) -> None:
        unforeseen = last is None or (isinstance(last, Failed) and last.error == WorkerError.__name__)
        try:
            if unforeseen or self._closed:
                child.end()
                self._child = None
        finally:
            self._release()

    def _wait(self, cancelled: threading.Event) -> None:
        if self._owner == threading.get_ident():
            raise RuntimeError("This thread has not finished iterating over its last job with this worker.")
        while not self._busy.acquire(timeout=TICK_SECONDS):
            if cancelled.is_set():
                raise Cancelled
        self._owner, self._current = threading.get_ident(), cancelled
        if cancelled.is_set() or self._closed:
            self._release()
            raise Cancelled if cancelled.is_set() else WorkerError("The worker has been closed.")

    def _release(self) -> None:
        self._owner = self._current = None
        self._busy.release()
