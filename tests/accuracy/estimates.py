"""What Plimsoll says about a case, as `plimsoll estimate --device cpu --jit off` does."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from cases import Case

from planner_app.core.estimate.estimate import Estimate
from planner_app.core.estimate.estimate import estimate as estimate_setup
from planner_app.core.estimate.need import Need
from planner_app.core.model.setup import Jit, Precision, Setup, parse_optimizer
from planner_app.core.model.trace import StepTrace
from planner_app.core.replay.allocate import live
from planner_app.core.replay.memory import Memory
from planner_app.files.devices.catalogue import find_device
from planner_app.jobs.protocol import Trace
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.opening import check_model

TARGET = "cpu"


@dataclass(frozen=True, slots=True)
class Estimated:
    live_bytes: int
    peak_bytes: int
    low_bytes: int
    high_bytes: int
    temp_bytes: int
    state_bytes: int
    live_operation: str
    peak_operation: str
    seconds: float


def estimate(file: Path, case: Case, worker: WarmWorker) -> Estimated:
    """From the file, past the cache on disk: what is held against measurements is today's code."""
    began = time.monotonic()
    setup = setup_of(case)
    step = setup.step(TARGET)
    trace = worker.run(Trace(model=check_model(str(file)), setup=step), StepTrace)
    memory = Memory(trace, step)
    told: Estimate = estimate_setup(Need(memory, find_device(TARGET)), setup)
    return Estimated(
        live_bytes=told.live_bytes,
        peak_bytes=told.peak_bytes,
        low_bytes=told.low_bytes,
        high_bytes=told.high_bytes,
        temp_bytes=told.temp_bytes,
        state_bytes=told.state_bytes,
        live_operation=_live_operation(memory, case.batch),
        peak_operation=told.peak_operation,
        seconds=round(time.monotonic() - began, 2),
    )


def setup_of(case: Case, jit: Jit = Jit.OFF) -> Setup:
    """A setup's batch is that of an update, a case's that of a step."""
    steps = max(1, case.accumulate)
    return Setup(
        batch=case.batch * steps,
        precision=Precision(case.precision),
        accumulate=steps,
        optimizer=parse_optimizer(case.optimizer),
        jit=jit,
    )


def _live_operation(memory: Memory, batch: int) -> str:
    """Who takes the last byte of `live_bytes`: to find the place when it is not the measured one."""
    buffers = memory.buffers(batch)
    operation = buffers.operations[live(memory.trace, buffers, batch)[1]]
    return memory.trace.sources[memory.trace.operation(operation).source].name if operation >= 0 else ""
