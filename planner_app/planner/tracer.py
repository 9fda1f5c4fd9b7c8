"""From a checked model and a setup to its memory over the batch: out of the cache, or from a worker."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from queue import SimpleQueue

import msgspec

from planner_app.core.model.description import CheckedModel, says_its_size
from planner_app.core.model.setup import StepSetup
from planner_app.core.model.trace import StepTrace
from planner_app.core.replay.memory import Memory
from planner_app.core.sharding.layout import REPLICATED
from planner_app.core.sharding.mesh import ONE_GPU
from planner_app.files.kept.traces import TraceCache, trace_key
from planner_app.jobs.pool import WorkerPool
from planner_app.jobs.protocol import GIB, Limits, Progress, Trace
from planner_app.jobs.versions import worker_versions
from planner_app.jobs.warm import WarmWorker

# Measured with 10 to 80 blocks of a transformer: a trace takes some 0.6 GiB and 10 s more for each MB of
# configuration. A few times that is a model that will never be done.
BYTES_PER_BYTE = 3000
SECONDS_PER_MEGABYTE = 400.0
MOST_AT_A_TIME = 4  # TensorFlow alone takes half a gigabyte in each process

OnProgress = Callable[[Progress], None] | None


def at_a_time(groups: int) -> int:
    """How many workers trace so many groups of setups."""
    return max(1, min(groups, os.cpu_count() or 1, MOST_AT_A_TIME))


class Tracer:
    """One model's traces, each made once. From any thread.

    Attributes:
        versions: Of what traces depend on; by default those of the Python that workers run in.
        workers: Stay as long as a caller is inside.
    """

    def __init__(
        self,
        model: CheckedModel,
        cache: TraceCache | None = None,
        versions: Mapping[str, str] | None = None,
        workers: WorkerPool | None = None,
    ) -> None:
        self.model, self.workers = model, workers or WorkerPool()
        self.versions = worker_versions() if versions is None else versions
        self._cache = cache or TraceCache()
        self._memories: dict[StepSetup, Memory] = {}
        self._digests: dict[StepSetup, str] = {}
        self._known: dict[StepSetup, int] = {}

    @property
    def known(self) -> Mapping[StepSetup, Memory]:
        """What has been traced so far: a copy, since other threads may be tracing."""
        return dict(self._memories)

    def prepare(
        self,
        setups: Iterable[StepSetup],
        on_progress: OnProgress = None,
        cancelled: threading.Event | None = None,
        then: Callable[[Memory], object] | None = None,
    ) -> None:
        """Make the traces that are missing, several at a time. A worker imports TensorFlow once for all it traces.

        Args:
            then: Told of each in the calling thread, while the workers trace the next.
        """
        traced: SimpleQueue[Memory | None] = SimpleQueue()
        stopped = cancelled or threading.Event()
        groups = deque(alike(setup for setup in setups if setup not in self._memories))
        threads = at_a_time(len(groups))

        def trace_groups() -> None:
            try:
                with self.workers.worker() as worker:
                    while groups:
                        try:
                            group = groups.popleft()
                        except IndexError:  # another thread was quicker
                            return
                        for setup in group:
                            traced.put(self.trace(setup, worker, on_progress, stopped))
            finally:
                traced.put(None)

        with ThreadPoolExecutor(threads) as pool:
            running = [pool.submit(trace_groups) for _ in range(threads)]
            try:
                for _ in running:
                    for memory in iter(traced.get, None):
                        if then is not None:
                            then(memory)
            except BaseException:  # Ctrl-C too: nobody waits for traces that nobody wants
                stopped.set()
                raise
            for done in running:
                done.result()

    def memory(
        self, setup: StepSetup, on_progress: OnProgress = None, cancelled: threading.Event | None = None
    ) -> Memory:
        if setup not in self._memories:
            with self.workers.worker() as worker:
                self.trace(setup, worker, on_progress, cancelled)
        return self._memories[setup]

    def trace(
        self,
        setup: StepSetup,
        worker: WarmWorker,
        on_progress: OnProgress = None,
        cancelled: threading.Event | None = None,
    ) -> Memory:
        """Out of the cache where it is there; otherwise `worker`, which may know the model already, is asked."""
        if setup not in self._memories:
            key = trace_key(self.model, setup, self.versions)
            points = self._cache.points(key)
            trace = None if points else self._cache.trace(key)
            if trace is None and not points:
                trace = self._traced(setup, worker, on_progress, cancelled)
                self._digests[setup] = self._cache.keep_trace(key, trace)
            else:
                self._digests[setup] = self._cache.digest(key)
            self._known[setup] = len(points)
            self._memories[setup] = Memory(trace or partial(self._trace, key, setup), setup, points)
        return self._memories[setup]

    def _trace(self, key: str, setup: StepSetup) -> StepTrace:
        """Out of the cache; made anew where that has lost it since. Points of any other trace are dropped."""
        digest, trace = self._cache.digest(key), self._cache.trace(key)
        if trace is None:
            with self.workers.worker() as worker:
                trace = self._traced(setup, worker)
            digest = self._cache.keep_trace(key, trace)
        if digest != self._digests[setup]:
            self._memories[setup].forget()
            self._digests[setup], self._known[setup] = digest, 0
        return trace

    def _traced(
        self,
        setup: StepSetup,
        worker: WarmWorker,
        on_progress: OnProgress = None,
        cancelled: threading.Event | None = None,
    ) -> StepTrace:
        request = Trace(model=self.model, setup=setup)
        return worker.run(request, StepTrace, trace_limits(self.model), on_progress, cancelled)

    def missing(self, setups: Iterable[StepSetup]) -> list[StepSetup]:
        """Which of them neither are known here nor lie in the cache."""
        return [setup for setup in dict.fromkeys(setups) if setup not in self._memories and not self._is_kept(setup)]

    def take(self, setup: StepSetup, trace: StepTrace) -> None:
        """A trace that another machine with these versions has made."""
        self._digests[setup] = self._cache.keep_trace(trace_key(self.model, setup, self.versions), trace)
        self._known[setup] = 0
        self._memories[setup] = Memory(trace, setup)

    def _is_kept(self, setup: StepSetup) -> bool:
        key = trace_key(self.model, setup, self.versions)
        return bool(self._cache.points(key)) or self._cache.trace(key) is not None

    def keep(self) -> None:
        """Remember what was worked out, for the next time the model is opened."""
        for setup, memory in list(self._memories.items()):
            if len(memory.points) > self._known[setup]:
                key = trace_key(self.model, setup, self.versions)
                self._cache.keep_points(key, memory.points, self._digests[setup])
                self._known[setup] = len(memory.points)


def alike(setups: Iterable[StepSetup]) -> list[list[StepSetup]]:
    """Groups for one worker each, that keeps the step it has traced: they differ in devices alone."""
    groups: dict[StepSetup, list[StepSetup]] = {}
    for setup in dict.fromkeys(setups):
        common = replace(
            setup,
            xla=False,
            replicated=False,
            target=setup.target.partition(":")[0],
            mesh=ONE_GPU,
            layout=REPLICATED,
        )
        groups.setdefault(common, []).append(setup)
    return list(groups.values())


def trace_limits(model: CheckedModel) -> Limits:
    """By the length of the configuration. A function, or a class of a package, says nothing of how much it makes."""
    if not says_its_size(model):
        return Trace.limits
    length = len(msgspec.json.encode(model.config))
    return Limits(memory_bytes=2 * GIB + BYTES_PER_BYTE * length, seconds=120 + SECONDS_PER_MEGABYTE * length / 1e6)
