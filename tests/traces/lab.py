"""Traces of tiny models by a real worker, each made once for the whole run."""

from planner_app.core.estimate.estimate import Estimate, estimate
from planner_app.core.estimate.need import Need
from planner_app.core.hardware.device import Device, cpu_device, custom_device
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup, StepSetup, parse_optimizer
from planner_app.core.model.trace import Role, StepTrace
from planner_app.core.replay.allocate import live, state_bytes
from planner_app.core.replay.memory import Memory
from planner_app.files.kept.traces import TraceCache, trace_key
from planner_app.jobs.protocol import Trace
from planner_app.jobs.versions import worker_versions
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.tracer import trace_limits

CARD = custom_device("24GiB", 24 << 30, (8, 9))
CPU = cpu_device()


class Lab:
    def __init__(self, worker: WarmWorker, cache: TraceCache) -> None:
        self.worker, self.cache = worker, cache
        self._memories: dict[str, Memory] = {}

    def memory(self, model: CheckedModel, target: str = "gpu:8.0", optimizer: str = "adam", **more) -> Memory:
        """`target` may be "xla" too: a GPU, compiled."""
        xla = target == "xla"
        setup = StepSetup(target="gpu:8.0" if xla else target, xla=xla, optimizer=parse_optimizer(optimizer), **more)
        return self.of(model, setup)

    def of(self, model: CheckedModel, setup: StepSetup) -> Memory:
        key = trace_key(model, setup, worker_versions())
        if key not in self._memories:
            trace = self.cache.trace(key)
            if trace is None:
                trace = self.worker.run(Trace(model=model, setup=setup), StepTrace, trace_limits(model))
                self.cache.keep_trace(key, trace)
            self._memories[key] = Memory(trace, setup)
        return self._memories[key]

    def live(self, model: CheckedModel, batch: int, **setup) -> int:
        return live_bytes(self.memory(model, **setup), batch)

    def estimate(self, model: CheckedModel, setup: Setup, device: Device = CARD) -> Estimate:
        target = "gpu:8.0" if device.cuda else "cpu"
        return estimate(Need(self.of(model, setup.step(target)), device), setup)


def live_bytes(memory: Memory, batch: int) -> int:
    """Without the band, which takes longest to work out."""
    return live(memory.trace, memory.buffers(batch), batch)[0]


def between_steps(memory: Memory, batch: int) -> int:
    return state_bytes(memory.trace, memory.buffers(batch), batch)


def role_bytes(memory: Memory, *roles: Role, batch: int = 8) -> int:
    trace = memory.trace
    return sum(trace.sizes[v.size].at(batch) for v in trace.variables if v.role in roles)
