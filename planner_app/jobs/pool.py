"""Warm workers for several threads: TensorFlow is imported once for each that works at the same time.

with pool:                              # as long as anything is inside, workers stay
    with pool.worker() as worker: ...   # one that rests, or a new one
    with pool.worker() as worker: ...   # the same
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

from planner_app.jobs.warm import WarmWorker


class WorkerPool:
    """From any thread. The last one to leave ends the workers."""

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._inside = 0
        self._resting: list[WarmWorker] = []

    def __enter__(self) -> "WorkerPool":
        with self._lock:
            self._inside += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._inside -= 1
            ending = [] if self._inside else self._resting
            if ending:
                self._resting = []
        for worker in ending:
            worker.close()

    @contextmanager
    def worker(self) -> Iterator[WarmWorker]:
        with self:
            with self._lock:
                worker = self._resting.pop() if self._resting else WarmWorker(self._command)
            try:
                yield worker
            finally:
                with self._lock:
                    self._resting.append(worker)
