"""The compiler's lines of one model: what was compiled before costs nothing, what is missing is compiled on request.

    lines = CompilerLines(model)
    lines.known(Setup(batch=64), device)                        # from memory or disk, at once
    lines.compile(Setup(batch=64), device)                      # with an anchor at that batch
    lines.settle(Setup(batch=64), device, estimate, capacity)   # the largest batch, and one more

A compiler that fails leaves a sentence on the line (`trouble`), and the estimate stands.
"""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import StrEnum

from planner_app.core.compile.anchoring import next_for_chart, next_for_largest
from planner_app.core.compile.line import NO_LINE, Anchor, Line, ModelLevel
from planner_app.core.hardware.device import Device
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup
from planner_app.errors import Cancelled, CompilerMissing, DeviceError, PlannerError
from planner_app.files.devices.targets import target_of
from planner_app.files.kept.compiled import CompileCache, line_key
from planner_app.jobs.protocol import Progress
from planner_app.jobs.versions import worker_versions
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.compile import Compiler, OnProgress, compiled_step

ASK_VARIABLE = "PLIMSOLL_COMPILER"


class Ask(StrEnum):
    """When the compiler is asked for what is not kept."""

    NEVER = "never"
    WHEN_OPEN = "when open"  # the capacity lies inside the band: the verdict hangs on it
    ALWAYS = "always"


def default_ask() -> Ask:
    """As `PLIMSOLL_COMPILER` says: `never`, `always`, or nothing."""
    said = os.environ.get(ASK_VARIABLE, "").strip().lower()
    return Ask(said) if said in (Ask.NEVER, Ask.ALWAYS) else Ask.WHEN_OPEN


class CompilerLines:
    """From any thread. Compilations run one after the other, in children that `cancel` ends within a second."""

    def __init__(self, model: CheckedModel, cache: CompileCache | None = None) -> None:
        self._model, self._cache = model, cache or CompileCache()
        self._lines: dict[str, Line] = {}
        self._keys: dict[tuple[object, ...], str] = {}
        self._missing = ""  # why nothing can be compiled at all
        self._compiling = threading.Lock()

    def known(self, setup: Setup, device: Device) -> Line:
        """What has been compiled so far; an empty line where XLA does not compile the step."""
        key = self._key(setup, device)
        if not key:
            return NO_LINE
        if key not in self._lines:
            self._lines[key] = self._cache.line(key)
        return self._lines[key]

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
        with WarmWorker() as worker:
            return self._compile(setup, device, setup.per_gpu_batch, worker, on_progress, cancelled)

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
        line = self.known(setup, device)
        if line is NO_LINE:
            return line
        with WarmWorker() as worker:
            while not line.trouble and (batch := next_for_largest(line, estimate, capacity_bytes)) is not None:
                line = self._compile(setup, device, batch, worker, on_progress, cancelled)
        return line

    def fill(
        self,
        setup: Setup,
        device: Device,
        estimate: ModelLevel,
        top_bytes: int,
        on_progress: OnProgress | None = None,
        cancelled: threading.Event | None = None,
    ) -> Iterator[Line]:
        """The line of a chart up to `top_bytes`, after each compilation: where it is least sure comes first."""
        line = self.known(setup, device)
        if line is NO_LINE:
            return
        with WarmWorker() as worker:
            while not line.trouble and (batch := next_for_chart(line, estimate, top_bytes)) is not None:
                line = self._compile(setup, device, batch, worker, on_progress, cancelled)
                yield line

    def _compile(
        self,
        setup: Setup,
        device: Device,
        batch: int,
        worker: WarmWorker,
        on_progress: OnProgress | None,
        cancelled: threading.Event | None,
    ) -> Line:
        line, key = self.known(setup, device), self._key(setup, device)
        if not key or line.trouble or line.anchor(batch) is not None:
            return line
        self._wait(cancelled)
        try:
            line = self._lines[key]
            if line.anchor(batch) is not None:  # by another thread
                return line
            line = self._asked(line, setup, device, batch, worker, on_progress, cancelled)
            self._lines[key] = line
            return line
        finally:
            self._compiling.release()

    def _asked(
        self,
        line: Line,
        setup: Setup,
        device: Device,
        batch: int,
        worker: WarmWorker,
        on_progress: OnProgress | None,
        cancelled: threading.Event | None,
    ) -> Line:
        if self._missing:
            return replace(line, trouble=self._missing)
        tell = on_progress and _named(on_progress, batch)
        try:
            # A line is drawn over the batch: how an update is shared out changes nothing in the program.
            asked = setup.with_batch(batch * setup.accumulate)
            with Compiler(self._model, self._cache, cancelled, worker) as compiler:
                check = compiler.check(asked, device, tell)
        except Cancelled:
            raise
        except CompilerMissing as error:
            self._missing = str(error)
            return replace(line, trouble=self._missing)
        except PlannerError as error:
            return replace(line, trouble=f"The compiler gave no figure at a batch of {batch}: {error}")
        line = replace(line.with_anchor(Anchor(batch, check.compiled)), versions=dict(check.versions))
        self._cache.keep_line(self._key(setup, device), line)
        return line

    def _wait(self, cancelled: threading.Event | None) -> None:
        while not self._compiling.acquire(timeout=0.1):
            if cancelled is not None and cancelled.is_set():
                raise Cancelled("Cancelled.")

    def _key(self, setup: Setup, device: Device) -> str:
        """Of the line on disk; "" where there is nothing to compile: several GPUs, the CPU, an unknown capability."""
        if setup.gpus > 1 or not setup.uses_xla(on_gpu=True):
            return ""
        step = compiled_step(setup)
        about = (step, setup.jit, device.name, device.compute_capability, device.total_bytes)
        if about not in self._keys:
            try:
                self._keys[about] = line_key(self._model, step, setup.jit, target_of(device).text, worker_versions())
            except DeviceError:
                self._keys[about] = ""
        return self._keys[about]


def _named(on_progress: OnProgress, batch: int) -> Callable[[Progress], None]:
    def tell(event: Progress) -> None:
        text = f"asking the compiler at a batch of {batch}: {event.text}"
        on_progress(Progress(done=event.done, of=event.of, text=text))

    return tell
