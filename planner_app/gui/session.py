"""The one mutable object of the app: the open model, the user's choice, and all results so far."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Unpack

from PySide6.QtCore import QObject, Signal

from planner_app.core.compile.check import CompileCheck
from planner_app.core.estimate.need import Need, Needs
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.measure.measurement import Measurement
from planner_app.core.model.description import ModelDescription
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.core.replay.memory import Memory
from planner_app.gui.background.answers import Answers, EstimateOf
from planner_app.gui.background.compiling import CompileRequest, Compiling
from planner_app.gui.background.opening import Opening
from planner_app.gui.background.task import Task
from planner_app.gui.background.traces import TraceRequest, Traces
from planner_app.gui.choice import BATCH, Choice, SetupChanges
from planner_app.gui.history import History
from planner_app.planner.lines import Ask
from planner_app.planner.opening import Opened, file_name
from planner_app.planner.planner import Planner
from planner_app.planner.tracer import Tracer

ABOVE_CAPACITY = 1.6  # lines are drawn this far beyond the largest capacity
WITHOUT_CAPACITY_BYTES = 64 << 30  # the same without a limit


class Session(QObject):
    """Panels read it and connect to its signals; user actions call its methods."""

    model_changed = Signal()  # another model is open, or none
    choice_changed = Signal()
    memories_changed = Signal()  # a line has arrived or failed
    pinned_changed = Signal()
    layer_changed = Signal()
    checks_changed = Signal()
    measurements_changed = Signal()
    progressed = Signal(int, int, str)  # done, total (0: unknown), current activity; "" when idle
    failed = Signal(str, str)  # why the model can't be opened, and detail

    def __init__(self, device: Device) -> None:
        super().__init__()
        self.opened: Opened | None = None
        self.path = ""
        self.pinned: Choice | None = None
        self.layer = ""
        self.measurements: tuple[Measurement, ...] = ()  # of the open model, the newest last
        self.checks: tuple[CompileCheck, ...] = ()
        self.answers = Answers()
        self._history = History(Choice(setup=Setup(batch=BATCH), device=device, devices=(device,)))
        self.planner: Planner | None = None  # of the open model
        self._memories: dict[StepSetup, Memory] = {}
        self._troubles: dict[StepSetup, str] = {}
        self._also: dict[str, tuple[StepSetup, ...]] = {}
        self._tasks: list[Task] = []
        self._opening, self._traces, self._compiling = Opening(self.start), Traces(), Compiling()
        self._tracing = ""
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

    # Results

    @property
    def choice(self) -> Choice:
        return self._history.now

    @property
    def description(self) -> ModelDescription | None:
        return self.opened.description if self.opened else None

    @property
    def memories(self) -> Mapping[StepSetup, Memory]:
        return MappingProxyType(self._memories)

    @property
    def opening(self) -> str:
        """The path of the file being opened; empty if none is."""
        return self._opening.path

    def memory(self, setup: Setup) -> Memory | None:
        return self._memories.get(setup.step(self.choice.device.target))

    def trouble(self, setup: Setup) -> str:
        """Why a setup has no line; empty if it has one or may get one."""
        return self._troubles.get(setup.step(self.choice.device.target), "")

    @property
    def needs(self) -> Needs:
        """The needs of traced steps, calibrated."""
        return Needs({}) if self.planner is None else self.planner.needs_of(self.memories)

    def need(self, setup: Setup, device: Device | None = None) -> Need | None:
        """None until the setup's step is traced."""
        device, needs = device or self.choice.device, self.needs
        return needs.of(setup, device) if needs.has(setup, device) else None

    def estimate_of(self, setup: Setup, device: Device | None = None) -> EstimateOf | None:
        """The question for a full estimate of a setup; None until it is traced."""
        need = self.need(setup, device)
        return None if need is None else EstimateOf(need, setup)

    def calibrate(self) -> None:
        """A calibration has changed."""
        if self.planner is not None:
            self.planner.recalibrate()
        self.memories_changed.emit()

    # User actions

    def open(self, path: str, custom: str | None = None) -> None:
        self._close_model()
        self._opening.open(path, custom)
        self.progressed.emit(0, 0, "reading the model file")
        self.model_changed.emit()

    def cancel(self) -> None:
        """Stop opening, tracing and compiling; results so far stay."""
        opening = self.opening
        self._opening.cancel()
        self._traces.request(None)
        self._compiling.request(None)
        self.progressed.emit(0, 0, "")
        if opening:
            self.model_changed.emit()

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
        self._history = History(self.choice)

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
        self.pinned = choice
        self.pinned_changed.emit()

    def highlight(self, layer: str) -> None:
        if layer != self.layer:
            self.layer = layer
            self.layer_changed.emit()

    def keep_measurement(self, measurement: Measurement) -> None:
        """Show it on the chart. It replaces an older one of the same point, place and time."""
        others = (each for each in self.measurements if _point(each) != _point(measurement))
        self.measurements = (*others, measurement)
        self.measurements_changed.emit()

    def keep_check(self, check: CompileCheck) -> None:
        others = (each for each in self.checks if (each.setup, each.device) != (check.setup, check.device))
        self.checks = (*others, check)
        self.checks_changed.emit()

    def trace(self) -> None:
        """Request the missing lines of the choice, then what panels need in addition."""
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
        self._tasks = [each for each in self._tasks if each.alive] + [task]
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
        self.choice_changed.emit()
        if after.steps() != before.steps() or _top_bytes(after) != _top_bytes(before):
            self.trace()

    def _ask_compiler(self) -> None:
        """Compiling comes after the lines: only once nothing is left to trace."""
        need, setup, device = self.need(self.choice.setup), self.choice.setup, self.choice.device
        if self.planner is None or need is None or self._tracing:
            return
        asked = self.planner.ask is not Ask.NEVER and need.memory.xla and bool(need.memory.points)
        request = CompileRequest(self.planner, setup, device, _top_bytes(self.choice))
        self._compiling.request(request if asked and not need.line.trouble else None)

    def _close_model(self) -> None:
        self._traces.request(None)
        self._compiling.request(None)
        self.answers.forget()
        self.opened, self.planner, self.path, self.layer = None, None, "", ""
        self._memories.clear()
        self._troubles.clear()
        self._also.clear()
        self.pinned, self.measurements, self.checks = None, (), ()

    def _on_opened(self, path: str, opened: Opened) -> None:
        self.opened, self.path = opened, path
        self.planner = Planner(opened.checked, file=file_name(path))
        sizes = tuple(
            each for each in self.choice.setup.sizes if each[0] in {i.name for i in opened.description.inputs}
        )
        self._history = History(
            replace(self.choice, setup=replace(self.choice.setup, sizes=sizes, freeze=(), remat=""))
        )
        self.model_changed.emit()
        self.choice_changed.emit()
        self.trace()

    def _on_open_failed(self, why: str, detail: str) -> None:
        self.progressed.emit(0, 0, "")
        self.failed.emit(why, detail)
        self.model_changed.emit()

    def _on_open_progressed(self, text: str) -> None:
        if self.opening:
            self.progressed.emit(0, 0, text)

    def _on_traced(self, tracer: Tracer, step: StepSetup, memory: Memory) -> None:
        if self.planner is not None and tracer is self.planner.tracer:
            self._memories[step] = memory
            self._troubles.pop(step, None)
            self.memories_changed.emit()

    def _on_trace_failed(self, tracer: Tracer, step: StepSetup, why: str) -> None:
        if self.planner is not None and tracer is self.planner.tracer:
            self._troubles[step] = why
            self.memories_changed.emit()

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
