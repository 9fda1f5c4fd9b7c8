"""What a model needs with larger inputs: each size is a trace of its own."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from planner_app.core.estimate.largest_input import Largest, Tried, largest_size
from planner_app.core.hardware.device import Device
from planner_app.core.model.grow import Growth
from planner_app.core.model.setup import Setup
from planner_app.errors import ModelError, SetupError, WorkerError
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.planner import OnProgress, Planner


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """One way to grow: what each GPU needs now, and at twice the size, and the largest that fits."""

    growth: Growth
    now: Tried
    twice: Tried
    largest: Largest | None
    limit_bytes: int | None


def need_at(
    planner: Planner,
    worker: WarmWorker,
    setup: Setup,
    device: Device,
    growth: Growth,
    on_progress: OnProgress = None,
    cancelled: threading.Event | None = None,
    *,
    sure: bool = False,
) -> Callable[[int], Tried]:
    """Memory of each GPU over the size. A size the model can't have is told; that it can't have its own is an error."""

    def need(size: int) -> Tried:
        grown = replace(setup, sizes=growth.into(setup.sizes, size))
        try:
            need = planner.need(grown, device, worker=worker, on_progress=on_progress, cancelled=cancelled)
        except (ModelError, SetupError, WorkerError) as error:
            if size == growth.now:
                raise
            return Tried(size, None, str(error))
        level = need.level(grown.per_gpu_batch)
        return Tried(size, level.high_bytes if sure else level.peak_bytes)

    return need


def sensitivity(
    planner: Planner,
    setup: Setup,
    device: Device,
    growth: Growth,
    *,
    worker: WarmWorker,
    solve: bool = True,
    sure: bool = False,
    on_progress: OnProgress = None,
    cancelled: threading.Event | None = None,
) -> Sensitivity:
    """Some six traces, or two without `solve`. Without a limit on the device there is nothing to solve.

    `sure` asks for the high end of the band to fit: tight does not count.
    """
    need = need_at(planner, worker, setup, device, growth, on_progress, cancelled, sure=sure)
    now, twice = need(growth.now), need(2 * growth.now)
    limit = planner.needs.of(replace(setup, sizes=growth.into(setup.sizes, growth.now)), device).capacity_bytes
    known = {tried.size: tried for tried in (now, twice)}
    largest = None
    if solve and limit is not None:
        largest = largest_size(lambda size: known.get(size) or need(size), growth, limit)
    return Sensitivity(growth, now, twice, largest, limit)
