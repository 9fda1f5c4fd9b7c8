"""From a checked model and a setup to its memory over the batch: out of the cache, or from a worker."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import msgspec

from planner_app.core.memory import Memory
from planner_app.core.model import CheckedModel
from planner_app.core.setup import StepSetup
from planner_app.core.trace import StepTrace
from planner_app.files.traces import TraceCache, trace_key
from planner_app.jobs.protocol import GIB, Limits, Progress, Trace
from planner_app.jobs.warm import WarmWorker

# Measured with 10 to 80 blocks of a transformer: a trace takes some 0.6 GiB and 10 s more for each MB of
# configuration. A few times that is a model that will never be done.
BYTES_PER_BYTE = 3000
SECONDS_PER_MEGABYTE = 400.0
MOST_AT_A_TIME = 4  # TensorFlow alone takes half a gigabyte in each process


class Tracer:
    """One model's traces, each made once."""

    def __init__(self, model: CheckedModel, cache: TraceCache | None = None) -> None:
        self.model = model
        self._cache = cache or TraceCache()
        self._memories: dict[StepSetup, Memory] = {}
        self._known: dict[StepSetup, int] = {}

    def prepare(self, setups: Iterable[StepSetup], on_progress: Callable[[Progress], None] | None = None) -> None:
        """Make the traces that are missing, several at a time.

        Setups that differ in the device alone go to one worker, one after the other: it keeps the step it has traced.
        """
        groups: dict[StepSetup, list[StepSetup]] = {}
        for setup in dict.fromkeys(setups):
            if setup not in self._memories:
                alike = replace(setup, xla=False, replicated=False, target=setup.target.partition(":")[0])
                groups.setdefault(alike, []).append(setup)
        at_a_time = max(1, min(len(groups), os.cpu_count() or 1, MOST_AT_A_TIME))
        with ThreadPoolExecutor(at_a_time) as pool:
            list(pool.map(lambda group: self._trace_all(group, on_progress), groups.values()))

    def memory(self, setup: StepSetup, on_progress: Callable[[Progress], None] | None = None) -> Memory:
        if setup not in self._memories:
            self._trace_all([setup], on_progress)
        return self._memories[setup]

    def _trace_all(self, setups: list[StepSetup], on_progress: Callable[[Progress], None] | None) -> None:
        with WarmWorker() as worker:
            for setup in setups:
                key = trace_key(self.model, setup)
                points = self._cache.points(key)
                trace = None if points else self._cache.trace(key)
                if trace is None and not points:
                    trace = self._traced(setup, worker, on_progress)
                    self._cache.keep_trace(key, trace)
                self._memories[setup] = Memory(trace or partial(self._trace, key, setup), setup, points)
                self._known[setup] = len(points)

    def _trace(self, key: str, setup: StepSetup) -> StepTrace:
        """Out of the cache; made anew where that has lost it since."""
        trace = self._cache.trace(key)
        if trace is None:
            with WarmWorker() as worker:
                trace = self._traced(setup, worker, None)
        return trace

    def _traced(
        self, setup: StepSetup, worker: WarmWorker, on_progress: Callable[[Progress], None] | None
    ) -> StepTrace:
        request = Trace(model=self.model, setup=setup)
        return worker.run(request, StepTrace, trace_limits(self.model), on_progress)

    def keep(self) -> None:
        """Remember what was worked out, for the next time the model is opened."""
        for setup, memory in self._memories.items():
            if len(memory.points) > self._known[setup]:
                self._cache.keep_points(trace_key(self.model, setup), memory.points)


def trace_limits(model: CheckedModel) -> Limits:
    length = len(msgspec.json.encode(model.config))
    return Limits(memory_bytes=2 * GIB + BYTES_PER_BYTE * length, seconds=120 + SECONDS_PER_MEGABYTE * length / 1e6)
