"""From a checked model and a setup to its memory over the batch: out of the cache, or from a worker."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from planner_app.core.memory import Memory
from planner_app.core.model import CheckedModel
from planner_app.core.setup import StepSetup
from planner_app.core.trace import StepTrace
from planner_app.files.traces import TraceCache, trace_key
from planner_app.jobs.job import run
from planner_app.jobs.protocol import GIB, Limits, Progress, Trace

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
        """Make the traces that are missing, several at a time: each is a process of its own."""
        missing = [setup for setup in dict.fromkeys(setups) if setup not in self._memories]
        at_a_time = min(len(missing), os.cpu_count() or 1, MOST_AT_A_TIME)
        if at_a_time > 1:
            with ThreadPoolExecutor(at_a_time) as pool:
                list(pool.map(lambda setup: self.memory(setup, on_progress), missing))
        else:
            for setup in missing:
                self.memory(setup, on_progress)

    def memory(self, setup: StepSetup, on_progress: Callable[[Progress], None] | None = None) -> Memory:
        if setup not in self._memories:
            key = trace_key(self.model, setup)
            trace = self._cache.trace(key)
            if trace is None:
                request = Trace(model=self.model, setup=setup)
                trace = run(request, StepTrace, trace_limits(self.model), on_progress)
                self._cache.keep_trace(key, trace)
            points = self._cache.points(key)
            self._memories[setup] = Memory(trace, setup, points)
            self._known[setup] = len(points)
        return self._memories[setup]

    def keep(self) -> None:
        """Remember what was worked out, for the next time the model is opened."""
        for setup, memory in self._memories.items():
            if len(memory.points) > self._known[setup]:
                self._cache.keep_points(trace_key(self.model, setup), memory.points)


def trace_limits(model: CheckedModel) -> Limits:
    length = len(msgspec.json.encode(model.config))
    return Limits(memory_bytes=2 * GIB + BYTES_PER_BYTE * length, seconds=120 + SECONDS_PER_MEGABYTE * length / 1e6)
