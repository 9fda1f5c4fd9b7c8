"""What a model needs with larger inputs: each size is a trace of its own."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from planner_app.core.estimate.largest_input import Largest, Tried, largest_size
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.model.grow import Growth
from planner_app.core.model.setup import Setup
from planner_app.errors import ModelError, SetupError, WorkerError
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.tracer import OnProgress, Tracer


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """One way to grow: what each GPU needs now, and at twice the size, and the largest that fits."""

    growth: Growth
    now: Tried
    twice: Tried
    largest: Largest | None
    limit_bytes: int | None


def need_at(
    tracer: Tracer,
    worker: WarmWorker,
    setup: Setup,
    device: Device,
    growth: Growth,
    on_progress: OnProgress = None,
    cancelled: threading.Event | None = None,
) -> Callable[[int], Tried]:
    """Memory of each GPU over the size. A size the model can't have is told; that it can't have its own is an error."""

    def need(size: int) -> Tried:
        grown = replace(setup, sizes=growth.into(setup.sizes, size))
        try:
            memory = tracer.trace(grown.step(device.target), worker, on_progress, cancelled)
        except (ModelError, SetupError, WorkerError) as error:
            if size == growth.now:
                raise
            return Tried(size, None, str(error))
        return Tried(size, memory.point(grown.per_gpu_batch).in_use_bytes)

    return need


def sensitivity(
    tracer: Tracer,
    setup: Setup,
    device: Device,
    growth: Growth,
    *,
    worker: WarmWorker,
    solve: bool = True,
    on_progress: OnProgress = None,
    cancelled: threading.Event | None = None,
) -> Sensitivity:
    """Some six traces, or two without `solve`; `tracer.keep()` afterwards remembers them. Without a limit on the
    device there is nothing to solve."""
    limit = allocator_limit_bytes(device)
    need = need_at(tracer, worker, setup, device, growth, on_progress, cancelled)
    now, twice = need(growth.now), need(2 * growth.now)
    known = {tried.size: tried for tried in (now, twice)}
    largest = None
    if solve and limit is not None:
        largest = largest_size(lambda size: known.get(size) or need(size), growth, limit)
    return Sensitivity(growth, now, twice, largest, limit)
