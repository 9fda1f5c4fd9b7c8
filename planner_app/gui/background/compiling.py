"""Runs the compiler in the background: first at the chosen batch, then along the line on the chart."""

import threading
import traceback
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal

from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup
from planner_app.errors import Cancelled
from planner_app.jobs.protocol import Progress
from planner_app.planner.planner import Planner

REST_SECONDS = 1.0  # a moving slider soon asks for something else


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """The line of one setup on one device, up to `top_bytes`; the setup's own batch comes first."""

    planner: Planner
    setup: Setup
    device: Device
    top_bytes: int

    def is_line_of(self, other: "CompileRequest | None") -> bool:
        """Whether the two differ only in the batch."""
        return other is not None and replace(other, setup=other.setup.with_batch(self.setup.batch)) == self


class Compiling(QObject):
    """One request at a time. A compilation that is no longer needed ends within a second."""

    compiled = Signal(object)  # the planner whose line has changed
    progressed = Signal(str)  # the current activity; "" when idle

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()
        self._request: CompileRequest | None = None
        self._done: CompileRequest | None = None
        self._cancelled = threading.Event()
        self._closed = self._busy = False
        self._thread: threading.Thread | None = None

    def request(self, request: CompileRequest | None) -> None:
        """Replace the current request."""
        with self._changed:
            if request == self._request:
                return
            if request is None or not request.is_line_of(self._request):
                self._cancelled.set()
            self._request = request
            if request is not None and self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._serve)
                self._thread.start()
            self._changed.notify_all()

    @property
    def busy(self) -> bool:
        """Whether a compiler runs, including one that is about to end."""
        return self._busy

    def close(self) -> None:
        """Cancel the current work and wait until no child is left."""
        with self._changed:
            self._closed = True
            self._cancelled.set()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _serve(self) -> None:
        while (request := self._next()) is not None:
            self._busy = True
            try:
                self._compile(request)
            except Cancelled:
                continue
            except Exception as error:  # a bug: this line stays an estimate, the next one is compiled all the same
                traceback.print_exception(error)
            finally:
                self._busy = False
                self.progressed.emit("")

    def _next(self) -> CompileRequest | None:
        """The request, once it has been stable for a moment; None at the end."""
        with self._changed:
            while not self._closed:
                request = self._request
                if request is None or request == self._done:
                    self._changed.wait()
                elif not self._changed.wait(REST_SECONDS) and request == self._request:
                    self._cancelled = threading.Event()
                    self._done = request
                    return request
            return None

    def _compile(self, request: CompileRequest) -> None:
        planner, setup, device = request.planner, request.setup, request.device
        estimated = planner.needs.of(setup, device).estimated
        estimated(setup.per_gpu_batch)  # here, not in the drawing thread
        for _ in planner.lines.fill(setup, device, estimated, request.top_bytes, self._tell, self._cancelled):
            self.compiled.emit(planner)
            with self._changed:
                if self._request != request:  # another batch was chosen and comes first
                    return

    def _tell(self, event: Progress) -> None:
        self.progressed.emit(event.text)
