"""One open model and everything that is asked about it: the only door to estimates for the command line, the app, the
training side and the Python API.

    planner = Planner(check_model("resnet50.keras"))
    planner.estimate(Setup(batch=64), find_device("NVIDIA L4")).verdict
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeVar

from planner_app.core.advise import Advice, AdviceRequest
from planner_app.core.compile.anchoring import is_open
from planner_app.core.estimate.curve import per_gpu_batches
from planner_app.core.estimate.estimate import Estimate, estimate
from planner_app.core.estimate.largest import Largest, largest
from planner_app.core.estimate.level import Level, Source
from planner_app.core.estimate.need import Need, Needs
from planner_app.core.estimate.verdict import Verdict, judge
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.option import Offers, ShopRequest
from planner_app.core.hardware.prices import NEW_TODAY, Accepted
from planner_app.core.hardware.shop import Measured
from planner_app.core.model.description import CheckedModel, ModelDescription
from planner_app.core.model.setup import NEWEST, Backend, Setup, StepSetup
from planner_app.core.plan.ladder import PlanRequest
from planner_app.core.plan.plan import Plan
from planner_app.core.replay.memory import Memory
from planner_app.core.sharding.arrangement import ModelState
from planner_app.core.sharding.layout import LayoutName
from planner_app.core.sharding.mesh import ONE_GPU
from planner_app.files.kept.compiled import CompileCache
from planner_app.files.kept.traces import TraceCache
from planner_app.jobs.pool import WorkerPool
from planner_app.jobs.protocol import Progress, ShardedState
from planner_app.jobs.warm import WarmWorker
from planner_app.planner import advise, plan, shop
from planner_app.planner.calibrations import CalibrationLookup
from planner_app.planner.lines import Ask, CompilerLines, default_ask
from planner_app.planner.opening import describe_model
from planner_app.planner.tracer import Tracer, trace_limits

OnProgress = Callable[[Progress], None] | None
T = TypeVar("T")
ROUNDS = 3  # of asking the compiler about an answer that changes with what it says
MOST_ASKED = 8  # setups in a round, where they are asked about because verdicts hang on them


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One setup on one device, as a line of the chart has it."""

    setup: Setup
    device: str
    xla: bool
    level: Level
    capacity_bytes: int | None
    verdict: Verdict | None
    calibrated: bool


class Planner:
    """Owns the model, its traces, the compiler's lines, the worker's versions and the calibrations. From any thread.

    Attributes:
        file: What plans call the model: its file's name without the folder, or `file.py:function`.
        ask: When the compiler is asked. What it has said before is always used.
    """

    def __init__(
        self,
        model: CheckedModel,
        *,
        file: str = "",
        calibrated: bool = True,
        ask: Ask | None = None,
        cache: TraceCache | None = None,
    ) -> None:
        self.model, self.file, self.ask = model, file or model.name, ask or default_ask()
        self.workers = WorkerPool()
        self.tracer = Tracer(model, cache, workers=self.workers)
        self.lines = CompilerLines(model, None if cache is None else CompileCache(cache.folder), self.workers)
        self.calibrations = CalibrationLookup(self.tracer.versions, enabled=calibrated)

    def recalibrate(self) -> None:
        """A calibration has changed: read it again."""
        self.calibrations = CalibrationLookup(self.tracer.versions, enabled=self.calibrations.enabled)

    @property
    def needs(self) -> Needs:
        """Of the steps that are traced so far."""
        return Needs(self.tracer.known, self.calibrations, self.lines.known)

    def needs_of(self, memories: Mapping[StepSetup, Memory]) -> Needs:
        return Needs(memories, self.calibrations, self.lines.known)

    def need(
        self,
        setup: Setup,
        device: Device,
        limit_bytes: int | None = None,
        *,
        worker: WarmWorker | None = None,
        on_progress: OnProgress = None,
        cancelled: threading.Event | None = None,
    ) -> Need:
        """Traced first, where it is not yet."""
        step = setup.step(device.target)
        if worker is None:
            self.tracer.memory(step, on_progress, cancelled)
        else:
            self.tracer.trace(step, worker, on_progress, cancelled)
        return self.needs.of(setup, device, limit_bytes)

    def describe(
        self, source: str, sizes: Mapping[str, tuple[int, ...]] | None = None, on_progress: OnProgress = None
    ) -> ModelDescription:
        """`source` is what messages call the model."""
        with self.workers.worker() as worker:
            return describe_model(self.model, source, sizes, on_progress, worker=worker)

    def estimate(
        self,
        setup: Setup,
        device: Device,
        limit_bytes: int | None = None,
        *,
        on_progress: OnProgress = None,
        cancelled: threading.Event | None = None,
    ) -> Estimate:
        with self.workers:
            self.need(setup, device, limit_bytes, on_progress=on_progress, cancelled=cancelled)
            self.ask_compiler([(setup, device)], limit_bytes, on_progress=on_progress, cancelled=cancelled)
        found = estimate(self.needs.of(setup, device, limit_bytes), setup)
        self.tracer.keep()
        return found

    def largest(
        self,
        setup: Setup,
        device: Device,
        limit_bytes: int | None = None,
        *,
        on_progress: OnProgress = None,
        cancelled: threading.Event | None = None,
    ) -> Largest:
        """Where the compiler is asked, it has compiled the answer and one more."""
        with self.workers:
            need = self.need(setup, device, limit_bytes, on_progress=on_progress, cancelled=cancelled)
            if need.memory.xla and need.capacity_bytes is not None and self.ask is not Ask.NEVER:
                self.lines.settle(setup, device, need.estimated, need.capacity_bytes, on_progress, cancelled)
        found = largest(self.needs.of(setup, device, limit_bytes), setup)
        self.tracer.keep()
        return found

    def sweep(
        self,
        setups: Sequence[Setup],
        devices: Sequence[Device],
        *,
        on_progress: OnProgress = None,
        cancelled: threading.Event | None = None,
    ) -> tuple[SweepPoint, ...]:
        """Every setup on every device, on the lines between anchors. Points are worked out while steps are traced."""
        wanted = per_gpu_batches(setups, devices)

        def work_out(memory: Memory) -> None:
            for device in devices:
                need = Need(memory, device, self.calibrations(device, memory.xla, memory.setup.backend))
                for batch in wanted.get(memory.setup, ()):
                    need.level_on_line(batch)

        self.tracer.prepare(wanted, on_progress, cancelled, then=work_out)
        points = tuple(self._point(setup, device) for device in devices for setup in setups)
        self.tracer.keep()
        return points

    def advise(
        self,
        request: AdviceRequest,
        *,
        on_progress: OnProgress = None,
        on_part: Callable[[Advice], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Advice:

        def advised() -> Advice:
            return advise.advise_on(self, request, on_progress=on_progress, on_part=on_part, cancelled=cancelled)

        found = self._compiled(
            advised,
            lambda advice: advise.points(request, advice),
            request.limit_bytes,
            on_progress=on_progress,
            cancelled=cancelled,
        )
        self.tracer.keep()
        return found

    def shop(
        self,
        request: ShopRequest,
        devices: Sequence[Device],
        *,
        today: date,
        measured: Measured | None = None,
        accepted: Accepted = NEW_TODAY,
        on_progress: OnProgress = None,
    ) -> Offers:
        def offered() -> Offers:
            return shop.offers_for(
                self, request, devices, today=today, measured=measured, accepted=accepted, on_progress=on_progress
            )

        found = self._compiled(offered, lambda offers: shop.points(request, offers, self.ask), on_progress=on_progress)
        self.tracer.keep()
        return found

    def plan(self, request: PlanRequest, *, on_progress: OnProgress = None) -> Plan:
        """
        Raises:
            DoesNotFit: No rung fits on any of the devices.
        """
        resolved = self._laid_out(request, on_progress)
        try:
            return self._compiled(
                lambda: plan.make_plan(self, resolved, on_progress),
                lambda made: plan.points(resolved, made),
                request.memory.limit_bytes,
                on_progress=on_progress,
            )
        finally:
            self.tracer.keep()

    def _laid_out(self, request: PlanRequest, on_progress: OnProgress = None) -> PlanRequest:
        """With the rules of its layout, made for the model and the mesh. Nothing to do on TensorFlow."""
        setup = request.setup
        if setup.backend is not Backend.JAX or setup.mesh == ONE_GPU or setup.layout.name is LayoutName.DATA:
            return request
        question = ShardedState(model=self.model, setup=setup.step(NEWEST))
        with self.workers.worker() as worker:
            state = worker.run(question, ModelState, trace_limits(self.model), on_progress)
        layout = state.on(setup.mesh, setup.layout).layout
        return replace(request, setup=replace(setup, layout=layout), weight_sizes=state.trained_sizes)

    def trace(
        self,
        steps: Iterable[StepSetup],
        on_progress: OnProgress = None,
        then: Callable[[Memory], object] | None = None,
    ) -> None:
        """`then` is told of each, while the next is traced."""
        self.tracer.prepare(steps, on_progress, then=then)

    def ask_compiler(
        self,
        points: Iterable[tuple[Setup, Device]],
        limit_bytes: int | None = None,
        *,
        on_progress: OnProgress = None,
        cancelled: threading.Event | None = None,
    ) -> bool:
        """Has the compiler asked where `ask` says so; whether it had something to say."""
        needs, changed = self.needs, False
        traced = [(setup, device) for setup, device in dict.fromkeys(points) if needs.has(setup, device)]
        asked = [each for each in traced if self._is_asked(needs.of(*each, limit_bytes), each[0])]
        for setup, device in asked if self.ask is Ask.ALWAYS else asked[:MOST_ASKED]:
            before = self.lines.known(setup, device)
            changed |= self.lines.compile(setup, device, on_progress, cancelled) is not before
        return changed

    def _is_asked(self, need: Need, setup: Setup) -> bool:
        if self.ask is Ask.NEVER or not need.memory.xla or need.line.trouble:
            return False
        level, capacity = need.level(setup.per_gpu_batch), need.capacity_bytes
        if self.ask is Ask.ALWAYS:
            return level.source is not Source.COMPILER
        return capacity is not None and is_open(level, capacity)

    def _compiled(
        self,
        answer: Callable[[], T],
        points: Callable[[T], Iterable[tuple[Setup, Device]]],
        limit_bytes: int | None = None,
        *,
        on_progress: OnProgress = None,
        cancelled: threading.Event | None = None,
    ) -> T:
        """An answer whose setups the compiler was asked about: worked out again when it says otherwise."""
        with self.workers:
            found = answer()
            for _ in range(ROUNDS):
                if not self.ask_compiler(points(found), limit_bytes, on_progress=on_progress, cancelled=cancelled):
                    break
                found = answer()
        return found

    def _point(self, setup: Setup, device: Device) -> SweepPoint:
        need = self.needs.of(setup, device)
        level, capacity = need.level_on_line(setup.per_gpu_batch), need.capacity_bytes
        return SweepPoint(
            setup=setup,
            device=device.name,
            xla=need.memory.xla,
            level=level,
            capacity_bytes=capacity,
            verdict=None if capacity is None else judge(level, capacity),
            calibrated=need.calibration is not None,
        )
