"""Makes the traces that the chart needs, in the background: the most important first; outdated ones are dropped."""

import threading
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

from planner_app.core.estimate.curve import anchors
from planner_app.core.model.setup import StepSetup
from planner_app.core.replay.memory import Memory
from planner_app.errors import Cancelled, PlannerError
from planner_app.jobs.protocol import Progress
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.tracer import Tracer, alike

LANES = 2  # each takes half a gigabyte for TensorFlow; more lanes were no faster on two cores
MOST_BATCH = 1 << 17  # of one GPU, on a chart


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """The memory of these steps, over batches until it exceeds `up_to_bytes`."""

    tracer: Tracer
    steps: tuple[StepSetup, ...]
    up_to_bytes: int


@dataclass(slots=True)
class _Lane:
    worker: WarmWorker = field(default_factory=WarmWorker)
    step: StepSetup | None = None
    last: StepSetup | None = None
    tracer: Tracer | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    text: str = ""


class Traces(QObject):
    """Signals carry the request's tracer, so that answers for a closed model can be recognised."""

    traced = Signal(Tracer, StepSetup, Memory)  # again when more batches are known
    failed = Signal(Tracer, StepSetup, str)  # why
    progressed = Signal(int, int, str)  # steps done, total steps, and the current activity

    def __init__(self, lanes: int = LANES) -> None:
        super().__init__()
        self._changed = threading.Condition()
        self._request: TraceRequest | None = None
        self._done: set[tuple[Tracer, StepSetup, int]] = set()
        self._closed = False
        self._lanes = [_Lane() for _ in range(lanes)]
        self._threads: list[threading.Thread] = []

    def request(self, request: TraceRequest | None) -> None:
        """Replace the current request. A running trace that is still needed continues."""
        with self._changed:
            if request is None or (self._request is not None and request.tracer is not self._request.tracer):
                self._done.clear()
            self._request = request
            for lane in self._lanes:
                if lane.step is not None and not self._wanted(lane):
                    lane.cancelled.set()
            if request is not None and not self._threads and not self._closed:
                self._threads = [threading.Thread(target=self._serve, args=(lane,)) for lane in self._lanes]
                for thread in self._threads:
                    thread.start()
            self._changed.notify_all()

    def idle_worker(self) -> WarmWorker | None:
        """One to describe the next model with: it then has TensorFlow imported when the first line is traced."""
        with self._changed:
            return next((lane.worker for lane in self._lanes if lane.step is None and not self._closed), None)

    def close(self) -> None:
        """Cancel everything and wait until no child is left."""
        with self._changed:
            self._closed = True
            for lane in self._lanes:
                lane.cancelled.set()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for lane in self._lanes:
            lane.worker.close()

    def _wanted(self, lane: _Lane) -> bool:
        request = self._request
        return request is not None and lane.tracer is request.tracer and lane.step in request.steps

    def _serve(self, lane: _Lane) -> None:
        while self._serve_once(lane):
            pass  # a waiting lane must not keep a model alive

    def _serve_once(self, lane: _Lane) -> bool:
        with self._changed:
            while not self._closed and (self._gives_way(lane) or not self._next(lane)):
                self._changed.wait()
            self._changed.notify_all()  # a lane that gave way chooses now
            if self._closed or self._request is None:
                return False
            request = self._request
            lane.cancelled = threading.Event()
        self._make(lane, request)
        with self._changed:
            lane.step = lane.tracer = None
            self._say()
        return True

    def _gives_way(self, lane: _Lane) -> bool:
        """The chosen line is not for a worker that has yet to import TensorFlow while another rests."""
        if lane.worker.started:
            return False
        return any(other.worker.started and other.step is None for other in self._lanes)

    def _next(self, lane: _Lane) -> bool:
        """Take the first step that is needed, not done, and not in a group that another lane works on."""
        request = self._request
        if request is None:
            return False
        busy = [other.step for other in self._lanes if other is not lane and other.tracer is request.tracer]
        groups = alike(request.steps)
        groups.sort(key=lambda group: lane.last not in group)  # its worker has already traced that step
        for group in groups:
            if any(step in group for step in busy):
                continue
            for step in group:
                if (request.tracer, step, request.up_to_bytes) not in self._done:
                    lane.step, lane.last, lane.tracer = step, step, request.tracer
                    return True
        return False

    def _make(self, lane: _Lane, request: TraceRequest) -> None:
        step = lane.step
        if step is None:
            return

        def on_progress(event: Progress) -> None:
            lane.text = f"{step.precision}: {event.text}"
            with self._changed:
                self._say()

        try:
            memory = request.tracer.trace(step, lane.worker, on_progress, lane.cancelled)
            self._measure_out(lane, request, step, memory)
        except Cancelled:
            return
        except PlannerError as error:
            self.failed.emit(request.tracer, step, str(error))
        except Exception as error:  # a lane that ends would leave the window waiting for its lines
            self.failed.emit(request.tracer, step, f"A bug in Plimsoll: {type(error).__name__}: {error}")
        with self._changed:
            if self._request is not None and self._request.tracer is request.tracer:
                self._done.add((request.tracer, step, request.up_to_bytes))

    def _measure_out(self, lane: _Lane, request: TraceRequest, step: StepSetup, memory: Memory) -> None:
        """Points over the batch, until they leave the chart."""
        known = {point.batch for point in memory.points}
        for batch in anchors(MOST_BATCH):
            if lane.cancelled.is_set():
                raise Cancelled
            new = batch not in known
            point = memory.point(batch)
            if point.in_use_bytes > request.up_to_bytes:
                break
            if new and batch in (1, 8, 64, 512):
                self.traced.emit(request.tracer, step, memory)
        request.tracer.keep()
        self.traced.emit(request.tracer, step, memory)

    def _say(self) -> None:
        request = self._request
        if request is None:
            self.progressed.emit(0, 0, "")
            return
        done = sum((request.tracer, step, request.up_to_bytes) in self._done for step in request.steps)
        texts = [lane.text for lane in self._lanes if lane.step is not None and lane.text]
        self.progressed.emit(done, len(request.steps), texts[0] if texts else "")
