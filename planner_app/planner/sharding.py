"""From a model and a number of GPUs to the ways of sharing it out: every mesh, every layout."""

import threading
from collections.abc import Callable

from planner_app.core.compile.check import capacity_of
from planner_app.core.estimate.largest import largest
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import NEWEST, Setup
from planner_app.core.sharding.arrangement import ModelState
from planner_app.core.sharding.layout import REPLICATED
from planner_app.core.sharding.mesh import ONE_GPU
from planner_app.core.sharding.options import (
    ShardingOption,
    best_first,
    candidates,
    placed_option,
    with_largest,
)
from planner_app.errors import DeviceError
from planner_app.jobs.protocol import Progress, ShardedState
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.compile import OnProgress
from planner_app.planner.planner import Planner
from planner_app.planner.tracer import trace_limits


def model_state(
    planner: Planner, setup: Setup, worker: WarmWorker, cancelled: threading.Event | None = None
) -> ModelState:
    """The variables of a step on JAX, wherever they lie."""
    request = ShardedState(model=planner.model, setup=setup.on_mesh(ONE_GPU, REPLICATED).step(NEWEST))
    return worker.run(request, ModelState, trace_limits(planner.model), cancelled=cancelled)


def sharding_options(
    planner: Planner,
    setup: Setup,
    gpus: int,
    device: Device,
    limit_bytes: int | None = None,
    *,
    exact: bool = False,
    on_progress: OnProgress | None = None,
    on_part: Callable[[tuple[ShardingOption, ...]], None] | None = None,
    cancelled: threading.Event | None = None,
) -> tuple[ShardingOption, ...]:
    """The largest batch first.

    Args:
        exact: Has the compiler asked for each, which takes minutes; otherwise what it has said before is used.
        on_part: Told of all options after each that is worked out.

    Raises:
        DeviceError: Nothing limits the device.
    """
    capacity = min((each for each in (capacity_of(device), limit_bytes) if each is not None), default=None)
    if capacity is None:
        raise DeviceError("Name a GPU with --device, or set a limit with --limit 8GiB: nothing limits the CPU.")
    tell = on_progress or (lambda _event: None)
    with planner.workers.worker() as worker:
        tell(Progress(done=0, of=1, text="listing the model's variables"))
        state = model_state(planner, setup, worker, cancelled)
        options = [placed_option(state, mesh, layout, capacity) for mesh, layout in candidates(gpus, state)]
        asked = [number for number, option in enumerate(options) if not option.reason]
        for done, number in enumerate(asked):
            option = options[number]
            tell(Progress(done=done, of=len(asked), text=f"mesh {option.mesh}, layout {option.layout}"))
            on = setup.on_mesh(option.mesh, option.layout)
            need = planner.need(on, device, limit_bytes, worker=worker, cancelled=cancelled)
            if exact:
                planner.lines.settle(on, device, need.estimated, capacity, on_progress, cancelled)
            found = largest(planner.needs.of(on, device, limit_bytes), on)
            anchor = planner.lines.known(on, device).anchor(max(found.counting_tight.batch, 1))
            options[number] = with_largest(option, found, None if anchor is None else anchor.compiled.travel_bytes)
            if on_part is not None:
                on_part(best_first(tuple(options)))
    planner.tracer.keep()
    return best_first(tuple(options))
