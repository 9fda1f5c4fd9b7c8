"""The one mutable object of the app: the open model, the user's choice, and all results so far."""

from collections.abc import Callable
from itertools import chain
from typing import Unpack

from PySide6.QtCore import QTimer, Signal

from planner_app.core.compile.check import CompileCheck
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.measure.measurement import Measurement
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.core.replay.memory import Memory
from planner_app.gui.background.answers import Answers
from planner_app.gui.background.compiling import CompileRequest, Compiling
from planner_app.gui.background.opening import Found, Opening
from planner_app.gui.background.task import Task
from planner_app.gui.background.traces import TraceRequest, Traces
from planner_app.gui.current import CurrentModel
from planner_app.gui.state.choice import Choice, SetupChanges
from planner_app.gui.state.history import History
from planner_app.gui.state.open_model import FailedRun, OpenModel, first_choice
from planner_app.gui.state.source import ModelSource
from planner_app.planner.lines import Ask
from planner_app.planner.planner import Planner
from planner_app.planner.tracer import Tracer

ABOVE_CAPACITY = 1.6  # lines are drawn this far beyond the largest capacity
TOGETHER_MS = 16  # about a frame
WITHOUT_CAPACITY_BYTES = 64 << 30  # the same without a limit


class Session(CurrentModel):
    """Panels read it and connect to its signals; user actions call its methods.

    Several models may be open; results and choices are those of the current one.
    """

    model_changed = Signal()  # another model is the current one, or none
    models_changed = Signal()  # the list of open models
    opening_changed = Signal()  # a file is being opened, or no longer
    checked = Signal(CheckedModel)  # the file being opened has been read, but is not described yet
    choice_changed = Signal()
    memories_changed = Signal()  # a line has arrived or failed
    pinned_changed = Signal()
    layer_changed = Signal()
    checks_changed = Signal()
    measurements_changed = Signal()
    failed_run_changed = Signal()
    progressed = Signal(int, int, str)  # done, total (0: unknown), current activity; "" when idle
    cancelled = Signal()  # by the user: what is missing stays so until something is chosen
    failed = Signal(str, str)  # why a model can't be opened, and detail; `refused` is its source

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.answers = Answers(self._keep_points)
        self.refused: ModelSource | None = None  # the last file that could not be opened
        self._also: dict[str, tuple[StepSetup, ...]] = {}
        self._tasks: list[Task] = []
        self._traces, self._compiling = Traces(), Compiling()
        self._opening = Opening(self.start, self._traces.idle_worker)
        self._tracing = ""
        self._news = QTimer(self, singleShot=True, interval=TOGETHER_MS)
        self._news.timeout.connect(self.memories_changed)
        self._opening.checked.connect(lambda _, checked: self.checked.emit(checked))
        self._opening.opened.connect(self._on_opened)
        self._opening.failed.connect(self._on_open_failed)
        self._opening.progressed.connect(self._on_open_progressed)
        self._traces.traced.connect(self._on_traced)
        self._traces.failed.connect(self._on_trace_failed)
        self._traces.progressed.connect(self._on_trace_progressed)
        self._compiling.compiled.connect(self._on_compiled)
        self._compiling.progressed.connect(self._on_compile_progressed)
        for signal in (self.choice_changed, self.memories_changed):
            signal.connect(self._ask_compiler)

    # What is going on

    @property
    def opening(self) -> str:
        """The path of the file being opened; empty if none is."""
        return self._opening.source.path if self._opening.source else ""

    @property
    def tracing(self) -> bool:
        return bool(self._tracing)

    def calibrate(self) -> None:
        """A calibration has changed."""
        if self.planner is not None:
            self.planner.recalibrate()
        self.memories_changed.emit()

    # User actions

    def open(self, path: str, custom: str | None = None, trust: tuple[str, ...] = (), data: str | None = None) -> None:
        """The current model stays until the new one has been opened."""
        self._opening.open(ModelSource(path, custom, trust, data))
        self.progressed.emit(0, 0, f"opening {self._opening.source.name}" if self._opening.source else "")
        self.opening_changed.emit()

    def show_model(self, model: OpenModel) -> None:
        """Make one of the open models the current one."""
        if model is not self._model and model in self.models:
            self._leave_model()
            self._model = model
            self._show_current()

    def close_model(self, model: OpenModel) -> None:
        place = self.models.index(model)
        self.models = tuple(each for each in self.models if each is not model)
        self.models_changed.emit()
        if model is self._model:
            self._leave_model()
            self._unopened = History(self.choice)
            self._model = self.models[min(place, len(self.models) - 1)] if self.models else None
            self._show_current()

    def cancel(self) -> None:
        """Stop opening, tracing and compiling; results so far stay."""
        opening = self.opening
        self._opening.cancel()
        self._traces.request(None)
        self._compiling.request(None)
        self.progressed.emit(0, 0, "")
        if opening:
            self.opening_changed.emit()
            self.trace()
        else:
            self.stopped = True
            self.memories_changed.emit()
            self.cancelled.emit()

    def choose(self, change: Callable[[Choice], Choice], mark: str = "") -> None:
        """Change the choice. Changes with the same mark are undone together.

        Raises:
            SetupError: The new choice makes no sense; nothing has changed.
        """
        self._go(lambda: self._history.go(change(self.choice), mark))

    def choose_setup(self, mark: str = "", **changes: Unpack[SetupChanges]) -> None:
        self.choose(lambda choice: choice.with_setup(**changes), mark)

    def rest(self) -> None:
        """The next change is undone separately."""
        self._history.rest()

    def forget_history(self) -> None:
        forgotten = History(self.choice)
        if self._model:
            self._model.history = forgotten
        else:
            self._unopened = forgotten

    def undo(self) -> None:
        self._go(self._history.undo)

    def redo(self) -> None:
        self._go(self._history.redo)

    @property
    def can_undo(self) -> bool:
        return self._history.can_undo

    @property
    def can_redo(self) -> bool:
        return self._history.can_redo

    def pin(self, choice: Choice | None) -> None:
        if self._model:
            self._model.pinned = choice
            self.pinned_changed.emit()

    def highlight(self, layer: str) -> None:
        if self._model and layer != self.layer:
            self._model.layer = layer
            self.layer_changed.emit()

    def mark_failed_run(self, run: FailedRun | None) -> None:
        """Choose the setup that failed according to a log, and mark it on the chart."""
        if self._model is None:
            return
        self._model.failed_run = run
        if run is not None:
            self.choose(lambda choice: choice.as_run_on(run.setup, run.device))
        self.failed_run_changed.emit()

    def keep_measurement(self, measurement: Measurement) -> None:
        """Show it on the chart. It replaces an older one of the same point, place and time."""
        others = tuple(each for each in self.measurements if _point(each) != _point(measurement))
        self.keep_measurements((*others, measurement))

    def keep_measurements(self, measurements: tuple[Measurement, ...]) -> None:
        if self._model:
            self._model.measurements = measurements
            self.measurements_changed.emit()

    def draw_layouts(self, layouts: tuple[tuple[str, Setup], ...]) -> None:
        """Other ways to share the model out, as lines of the chart."""
        if self._model and self._model.layouts != layouts:
            self._model.layouts = layouts
            self._tell_soon()

    def keep_check(self, check: CompileCheck) -> None:
        others = (each for each in self.checks if (each.setup, each.device) != (check.setup, check.device))
        if self._model:
            self._model.checks = (*others, check)
            self.checks_changed.emit()

    def trace(self) -> None:
        """Request the missing lines of the choice, then what panels need in addition."""
        self.stopped = False
        if self.planner is not None:
            steps = dict.fromkeys(chain(self.choice.steps(), *self._also.values()))
            self._traces.request(TraceRequest(self.planner.tracer, tuple(steps), _top_bytes(self.choice)))

    def trace_also(self, asker: str, steps: tuple[StepSetup, ...]) -> None:
        """What `asker` needs in addition to the chart's lines; replaces its earlier request."""
        if self._also.get(asker, ()) != steps:
            self._also[asker] = steps
            self.trace()

    @property
    def idle(self) -> bool:
        """Whether no task runs, including dropped ones that are about to end."""
        return not any(task.alive for task in self._tasks)

    def start(self, task: Task) -> None:
        """Start a task, which ends with the session at the latest."""
        self._tasks = [each for each in self._tasks if not each.delivered] + [task]
        task.start()

    def close(self) -> None:
        """End all work; no process is left afterwards."""
        for task in self._tasks:
            task.drop()
        self._compiling.close()
        self._traces.close()
        self.answers.close()
        for task in self._tasks:
            task.wait()

    def _go(self, move: Callable[[], None]) -> None:
        before = self.choice
        move()
        after = self.choice
        if after == before:
            return
        resumes, self.stopped = self.stopped, False
        self.choice_changed.emit()
        if resumes or after.steps() != before.steps() or _top_bytes(after) != _top_bytes(before):
            self.trace()

    def _ask_compiler(self) -> None:
        """Compiling comes after the lines: only once nothing is left to trace."""
        need, setup, device = self.need(self.choice.setup), self.choice.setup, self.choice.device
        if self.planner is None or need is None or self._tracing:
            return
        asked = not self.stopped and self.planner.ask is not Ask.NEVER and need.memory.xla and bool(need.memory.points)
        request = CompileRequest(self.planner, setup, device, _top_bytes(self.choice))
        self._compiling.request(request if asked and not need.line.trouble else None)

    def _keep_points(self) -> None:
        """So that the next time a model is opened, answers come from disk too. Called in the thread of answers."""
        for model in self.models:
            model.planner.tracer.keep()

    def _leave_model(self) -> None:
        self._traces.request(None)
        self._compiling.request(None)
        self.answers.forget()
        self._also.clear()

    def _show_current(self) -> None:
        for signal in (self.models_changed, self.model_changed, self.choice_changed):
            signal.emit()
        self.trace()

    def _on_opened(self, source: ModelSource, found: Found) -> None:
        history = History(first_choice(self.choice, found.opened))
        model = OpenModel(source, found.opened, found.planner, history)
        before = next((each for each in self.models if each.source.path == source.path), None)
        if before is None:
            self.models = (*self.models, model)
        else:
            model.reopened_from(before)
            self.models = tuple(model if each is before else each for each in self.models)
        self._leave_model()
        self._model, self.refused = model, None
        self.progressed.emit(0, 0, "")
        self.opening_changed.emit()
        self._show_current()

    def _on_open_failed(self, source: ModelSource, why: str, detail: str) -> None:
        self.refused = source
        self.progressed.emit(0, 0, "")
        self.failed.emit(why, detail)
        self.opening_changed.emit()

    def _on_open_progressed(self, text: str) -> None:
        if self._opening.source:
            self.progressed.emit(0, 0, f"{self._opening.source.name}: {text}")

    def _on_traced(self, tracer: Tracer, step: StepSetup, memory: Memory) -> None:
        if self._model is not None and tracer is self._model.planner.tracer:
            self._model.memories[step] = memory
            self._model.troubles.pop(step, None)
            self._tell_soon()

    def _on_trace_failed(self, tracer: Tracer, step: StepSetup, why: str) -> None:
        if self._model is not None and tracer is self._model.planner.tracer:
            self._model.troubles[step] = why
            self._tell_soon()

    def _tell_soon(self) -> None:
        """Lines that arrive together are drawn together."""
        if not self._news.isActive():
            self._news.start()

    def _on_trace_progressed(self, done: int, of: int, text: str) -> None:
        self._tracing = text if done < of else ""
        if not self.opening:
            self.progressed.emit(done, of, self._tracing)
            self._ask_compiler()

    def _on_compiled(self, planner: Planner) -> None:
        if planner is self.planner:
            self.memories_changed.emit()

    def _on_compile_progressed(self, text: str) -> None:
        if not self.opening and not self._tracing:
            self.progressed.emit(0, 0, text)


def _point(measurement: Measurement) -> tuple[object, ...]:
    return measurement.setup, measurement.place, measurement.hardware, measurement.order


def _top_bytes(choice: Choice) -> int:
    """How much memory the chart shows."""
    limits = [limit for device in choice.devices if (limit := allocator_limit_bytes(device)) is not None]
    return int(max(limits, default=WITHOUT_CAPACITY_BYTES) * ABOVE_CAPACITY)
