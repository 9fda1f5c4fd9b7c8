"""The compiler's lines of one model: what was compiled before costs nothing, what is missing is compiled on request.

    lines = CompilerLines(model)
    lines.known(Setup(batch=64), device)                        # at once
    lines.compile(Setup(batch=64), device)                      # with an anchor at that batch
    lines.settle(Setup(batch=64), device, estimate, capacity)   # the largest batch, and one more

A compiler that fails leaves a sentence on the line (`trouble`), and the estimate stands.
"""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from planner_app.core.compile.anchoring import next_for_chart, next_for_largest
from planner_app.core.compile.line import NO_LINE, Anchor, Line, ModelLevel
from planner_app.core.hardware.device import Device
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Backend, Setup
from planner_app.errors import Cancelled, CompilerMissing, DeviceError, PlannerError
from planner_app.files.devices.targets import target_of
from planner_app.files.kept.compiled import CompileCache, line_key, model_key
from planner_app.jobs.pool import WorkerPool
from planner_app.jobs.protocol import Progress
from planner_app.jobs.versions import worker_versions
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.compile import Compiler, OnProgress, compiled_step

ASK_VARIABLE = "PLIMSOLL_COMPILER"
NextBatch = Callable[[Line], int | None]


class Ask(StrEnum):
    """When the compiler is asked for what is not kept."""

    NEVER = "never"
    WHEN_OPEN = "when open"  # the capacity lies inside the band: the verdict hangs on it
    ALWAYS = "always"


def default_ask() -> Ask:
    """As `PLIMSOLL_COMPILER` says: `never`, `always`, or nothing."""
    said = os.environ.get(ASK_VARIABLE, "").strip().lower()
    return Ask(said) if said in (Ask.NEVER, Ask.ALWAYS) else Ask.WHEN_OPEN


@dataclass(frozen=True, slots=True)
class _Question:
    """One request for a line, with its progress callback and its cancel event."""

    setup: Setup
    device: Device
    on_progress: OnProgress | None
    cancelled: threading.Event | None


class CompilerLines:
    """From any thread. Compilations run one after the other, in children that `cancel` ends within a second.

    What is kept on disk is read once, by `load` or by the first question.
    """

    def __init__(
        self, model: CheckedModel, cache: CompileCache | None = None, workers: WorkerPool | None = None
    ) -> None:
        self._model, self._cache, self._workers = model, cache or CompileCache(), workers or WorkerPool()
        self._lines: dict[str, Line] | None = None
        self._loading = threading.Lock()
        self._keys: dict[tuple[object, ...], str] = {}
        self._missing = ""  # why nothing can be compiled at all
        self._compiling = threading.Lock()

    def load(self) -> dict[str, Line]:
        """Read the lines of this model, by key: afterwards `known` answers from memory."""
        with self._loading:
            if self._lines is None:
                self._lines = self._cache.lines(self._of_model)
            return self._lines

    def known(self, setup: Setup, device: Device) -> Line:
        """What has been compiled so far; an empty line where XLA does not compile the step."""
        return self.load().get(self._key(setup, device), NO_LINE)

    @property
    def figures(self) -> int:
        """How many are known, of all lines: it grows whenever a line changes."""
        return sum(len(line.anchors) for line in list(self.load().values()))

    def compile(
        self,
        setup: Setup,
        device: Device,
        on_progress: OnProgress | None = None,
        cancelled: threading.Event | None = None,
    ) -> Line:
        """The line with an anchor at the setup's batch, or with the reason why there is none.

        Raises:
            Cancelled: What was compiled before is kept.
        """
        return self._last(_Question(setup, device, on_progress, cancelled), lambda line: _own_batch(line, setup))

    def settle(
        self,
        setup: Setup,
        device: Device,
        estimate: ModelLevel,
        capacity_bytes: int,
        on_progress: OnProgress | None = None,
        cancelled: threading.Event | None = None,
    ) -> Line:
        """The line with the largest batch that fits and the one above it among its anchors."""
        question = _Question(setup, device, on_progress, cancelled)
        return self._last(question, lambda line: next_for_largest(line, estimate, capacity_bytes))

    def fill(
        self,
        setup: Setup,
        device: Device,
        estimate: ModelLevel,
        top_bytes: int,
        on_progress: OnProgress | None = None,
        cancelled: threading.Event | None = None,
    ) -> Iterator[Line]:
        """The line of a chart up to `top_bytes`, after each compilation.

        The setup's own batch comes first, then where the line is least sure.
        """
        question = _Question(setup, device, on_progress, cancelled)
        return self._anchored(
            question, lambda line: _own_batch(line, setup) or next_for_chart(line, estimate, top_bytes)
        )

    @cached_property
    def _of_model(self) -> str:
        return model_key(self._model, worker_versions())

    def _last(self, question: _Question, next_batch: NextBatch) -> Line:
        for _ in self._anchored(question, next_batch):
            pass
        return self.known(question.setup, question.device)

    def _anchored(self, question: _Question, next_batch: NextBatch) -> Iterator[Line]:
        """The line after each compilation, until there is nothing more to ask for or the compiler fails."""
        key = self._key(question.setup, question.device)
        line = self.load().get(key, NO_LINE)
        if not key or line.trouble or next_batch(line) is None:
            return
        with self._workers.worker() as worker:
            while not line.trouble and (batch := next_batch(line)) is not None:
                line = self._with_anchor(question, key, batch, worker)
                yield line

    def _with_anchor(self, question: _Question, key: str, batch: int, worker: WarmWorker) -> Line:
        self._wait(question.cancelled)
        try:
            lines = self.load()
            line = lines.get(key) or Line(memory_bytes=target_of(question.device).device_memory_size)
            if line.anchor(batch) is None:  # otherwise another thread has asked
                line = lines[key] = self._asked(line, question, key, batch, worker)
            return line
        finally:
            self._compiling.release()

    def _asked(self, line: Line, question: _Question, key: str, batch: int, worker: WarmWorker) -> Line:
        if self._missing:
            return replace(line, trouble=self._missing)
        tell = question.on_progress and _named(question.on_progress, batch)
        try:
            # A line is drawn over the batch: how an update is shared out changes nothing in the program.
            setup = question.setup.with_batch(batch * question.setup.shares)
            with Compiler(self._model, self._cache, question.cancelled, worker) as compiler:
                check = compiler.check(setup, question.device, tell)
        except Cancelled:
            raise
        except CompilerMissing as error:
            self._missing = str(error)
            return replace(line, trouble=self._missing)
        except PlannerError as error:
            return replace(line, trouble=f"The compiler gave no figure at a batch of {batch}: {error}")
        line = replace(line.with_anchor(Anchor(batch, check.compiled)), versions=dict(check.versions))
        return self._cache.keep_line(key, line)

    def _wait(self, cancelled: threading.Event | None) -> None:
        while not self._compiling.acquire(timeout=0.1):
            if cancelled is not None and cancelled.is_set():
                raise Cancelled("Cancelled.")

    def _key(self, setup: Setup, device: Device) -> str:
        """Of the line on disk; "" where there is nothing to compile: several GPUs, the CPU, an unknown capability."""
        if (setup.gpus > 1 and setup.backend is not Backend.JAX) or not setup.uses_xla(on_gpu=True):
            return ""
        step = compiled_step(setup)
        about = (step, setup.jit, device.name, device.compute_capability, device.total_bytes)
        if about not in self._keys:
            try:
                self._keys[about] = line_key(self._of_model, step, setup.jit, target_of(device).text)
            except DeviceError:
                self._keys[about] = ""
        return self._keys[about]


def _own_batch(line: Line, setup: Setup) -> int | None:
    return setup.per_gpu_batch if line.anchor(setup.per_gpu_batch) is None else None


def _named(on_progress: OnProgress, batch: int) -> Callable[[Progress], None]:
    def tell(event: Progress) -> None:
        text = f"asking the compiler at a batch of {batch}: {event.text}"
        on_progress(Progress(done=event.done, of=event.of, text=text))

    return tell
