"""Real training steps, measured. One point a process: TensorFlow never gives memory back, and a try after an
out-of-memory error in the same process lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

from planner_app.core.measure.measurement import Order, OutOfMemory, Run, Step
from planner_app.core.model.setup import Backend, Jit
from planner_app.jobs import protocol
from planner_app.worker.importing import quickly

Report = Callable[..., None]

WATCHED_STEPS = 3  # whose allocations are looked at: two that must have given everything back, and one after them
PREPARING = 3  # stages before the first step
JIT_COMPILE: dict[Jit, bool | str] = {Jit.AUTO: "auto", Jit.ON: True, Jit.OFF: False}


def measure(request: protocol.Measure, report: Report) -> Run:
    if request.setup.backend is Backend.JAX:
        from planner_app.worker.jax.measure import measure as measure_on_jax

        return measure_on_jax(request, report)
    every = PREPARING + (request.fits or request.steps)
    report(0, every, "importing TensorFlow")
    with quickly():
        import keras  # noqa: F401

        from planner_app.worker.measure import devices
    strategy = devices.prepare(request)
    report(1, every, "building the model")
    return _Measuring(request, report, every, strategy, devices.measured(request)).run()


class _Measuring:
    """One request, from the model to the figures."""

    def __init__(
        self, request: protocol.Measure, report: Report, every: int, strategy: Any, devices: tuple[str, ...]
    ) -> None:
        self._request, self._report, self._every, self._strategy = request, report, every, strategy
        self._devices = devices
        self._during = "building the model"
        self._oom: OutOfMemory | None = None
        self._made: Any = None
        self._steps: list[Step] = []
        self._notes: tuple[str, ...] = ()
        self._count = request.fits or request.steps
        self._what = "fit" if request.fits else "step"

    def run(self) -> Run:
        return self._one_by_one() if self._request.order is Order.INLINE else self._as_trained()

    def _one_by_one(self) -> Run:
        """Every allocation is watched from the beginning: live bytes are those of variables too."""
        from planner_app.worker.measure.allocations import figures, step_mark, timeline, watched
        from planner_app.worker.measure.one_by_one import OneByOne

        with self._guarded():
            made = self._built(values=False)
            steps = OneByOne(made, self._request.setup.per_gpu_batch)
        if self._oom is not None:
            return self._ended()
        with watched() as allocations, self._guarded():
            self._load(partial(steps.load, self._request.place.limit_bytes, once=self._request.one_region))
            probe = self._probe()
            for _ in range(self._count):
                with step_mark():
                    self._next(probe, steps.step)
        found = figures(allocations)
        self._check_watched(allocations)
        complete = self._oom is None and len(self._steps) > 1 and bool(allocations)
        return self._ended(
            live_bytes=found.live_bytes if complete else None,
            live_operation=found.live_operation if complete else "",
            temp_bytes=found.temp_bytes if complete else None,
            state_bytes=found.state_bytes if complete else None,
            limit_bytes=max((event.limit_bytes for event in allocations), default=None),
            timeline=timeline(allocations, len(self._steps), self._devices[0], self._about) if complete else None,
        )

    def _as_trained(self) -> Run:
        """The last steps are watched; of those before only the allocator's books are read, which costs nothing."""
        from planner_app.worker.measure.allocations import grown, kept_bytes, step_mark, timeline, watched
        from planner_app.worker.measure.as_trained import AsTrained

        with self._guarded():
            made = self._built(values=True)
            steps = AsTrained(made, self._request.setup, self._strategy)
            self._load(steps.load)
            run = steps.fit(self._request.steps) if self._request.fits else steps.step
            probe = self._probe()
            for _ in range(self._count):
                self._next(probe, run)
        if self._oom is not None:
            return self._ended()
        self._report(self._every, self._every, "watching every allocation")
        with watched() as allocations, self._guarded():
            for _ in range(WATCHED_STEPS if self._request.grows else 1):
                with step_mark():
                    run()
        self._check_watched(allocations)
        last = max((event.step for event in allocations), default=0)
        return self._ended(
            xla=bool(made.model.jit_compile),
            limit_bytes=max((event.limit_bytes for event in allocations), default=None),
            timeline=timeline(allocations, last, self._devices[0], self._about),
            kept_bytes=kept_bytes(allocations) if self._request.grows else None,
            grown=grown(allocations, self._about) if self._request.grows else (),
        )

    def _check_watched(self, allocations: list[Any]) -> None:
        if not allocations and self._oom is None:
            self._notes += (
                "The profiler could not write what it saw (is there room in the folder for temporary files?): "
                "live bytes, timeline and what grew are not known.",
            )

    def _built(self, *, values: bool) -> Any:
        from planner_app.worker.training.step import build

        setup, place = self._request.setup, self._request.place
        scope = self._strategy.scope() if self._strategy is not None else nullcontext()
        target = "gpu:8.0" if place.on_gpu else "cpu"
        jit = JIT_COMPILE[setup.jit] if values else False
        with scope:
            # Precisions that take the same memory share a trace, not a measurement: kernels are other ones.
            step = replace(setup.step(target), precision=setup.precision)
            made = build(self._request.model, step, values=values, jit=jit, accumulate=max(2, setup.accumulate))
        self._made = made
        return made

    @property
    def _about(self) -> Any:
        """Whose variables and operations are whose. A step of the model's own makes some of them when it first runs."""
        from planner_app.worker.graph.attribution import Attribution

        return Attribution(self._made.model) if self._made is not None else None

    def _load(self, load: Callable[[], None]) -> None:
        self._during = "loading the weights and the batch"
        self._report(2, self._every, self._during)
        load()

    def _probe(self) -> Any:
        from planner_app.worker.measure.meters import Probe

        return Probe(self._devices, self._request.watch, self._note)

    def _next(self, probe: Any, run: Callable[[], None]) -> None:
        self._during = f"{self._what} {len(self._steps) + 1}"
        self._report(PREPARING + len(self._steps), self._every, f"{self._during} of {self._count}")
        probe.step(run)

    def _note(self, step: Step) -> None:
        self._steps.append(step)
        self._report(PREPARING + len(self._steps), self._every, f"{self._during} of {self._count} is done", step)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Out of memory is a result."""
        from planner_app.worker.measure.exhausted import is_out_of_memory, out_of_memory

        try:
            yield
        except Exception as error:
            if not is_out_of_memory(error):
                self._blame_the_gpu()
                raise
            about = self._about
            layer_of = about.layer_or_part if about is not None else lambda _: ""
            self._oom = out_of_memory(error, self._during, layer_of)

    def _blame_the_gpu(self) -> None:
        """A step that failed because its GPU is gone fails with a riddle: NVML knows better."""
        if self._request.watch:
            self._probe()

    def _ended(self, **more: Any) -> Run:
        return Run(
            steps=tuple(self._steps),
            oom=self._oom,
            notes=self._notes,
            tensorflow=version("tensorflow"),
            keras=version("keras"),
            **more,
        )
