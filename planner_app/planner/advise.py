"""From a model that does not fit to advice: traces are made as they are found to be needed, several at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from planner_app.core.advise import Advice, AdviceRequest, advise
from planner_app.core.hardware.device import Device
from planner_app.core.model.description import ModelDescription
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.core.replay.memory import Memory
from planner_app.errors import Cancelled, PlannerError
from planner_app.jobs.protocol import Progress
from planner_app.jobs.versions import worker_versions
from planner_app.planner.tracer import Tracer, alike, at_a_time

if TYPE_CHECKING:
    from planner_app.planner.planner import Planner


def advise_on(
    planner: Planner,
    request: AdviceRequest,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    on_part: Callable[[Advice], None] | None = None,
    cancelled: threading.Event | None = None,
) -> Advice:
    """
    Args:
        on_part: Called after every round with what is known by then.
        cancelled: Once set, from any thread, work ends at once.
    """
    memories: dict[StepSetup, Memory] = {}
    impossible: dict[StepSetup, str] = {}
    while True:
        advice = advise(request, planner.needs_of(memories), impossible)
        if not advice.missing:
            return advice
        if on_part is not None:
            on_part(advice)
        traces = _Traces(planner.tracer, on_progress, cancelled)
        traces.make(advice.missing)
        memories |= traces.memories
        impossible |= traces.impossible


def points(request: AdviceRequest, advice: Advice) -> Iterator[tuple[Setup, Device]]:
    """The training as it is, and with the changes that are advised."""
    yield request.setup, request.device
    for option in (*advice.options, *advice.helpful):
        yield option.setup, option.device


class _Traces:
    """Traces made several at a time. One that can't be made does not keep the others from it."""

    def __init__(
        self, tracer: Tracer, on_progress: Callable[[Progress], None] | None, cancelled: threading.Event | None
    ) -> None:
        self._tracer, self._on_progress, self._cancelled = tracer, on_progress, cancelled
        self.memories: dict[StepSetup, Memory] = {}
        self.impossible: dict[StepSetup, str] = {}

    def make(self, steps: Sequence[StepSetup]) -> None:
        groups = alike(steps)
        with ThreadPoolExecutor(at_a_time(len(groups))) as pool:
            list(pool.map(self._make, groups))

    def _make(self, group: Sequence[StepSetup]) -> None:
        with self._tracer.workers.worker() as worker:
            for step in group:
                if self._cancelled is not None and self._cancelled.is_set():
                    raise Cancelled
                try:
                    self.memories[step] = self._tracer.trace(step, worker, self._on_progress, self._cancelled)
                except PlannerError as error:  # a size that the model can't take, say
                    self.impossible[step] = str(error)


def advice_request(
    setup: Setup,
    device: Device,
    description: ModelDescription,
    devices: Sequence[Device] = (),
    limit_bytes: int | None = None,
) -> AdviceRequest:
    known = dict(setup.sizes)
    inputs = []
    for tensor in description.inputs:
        sizes = known.get(tensor.name) or tuple(size for size in tensor.shape[1:] if isinstance(size, int))
        if len(sizes) == len(tensor.shape) - 1:
            inputs.append((tensor.name, tuple(sizes)))
    jax = bool(worker_versions().get("jax"))
    return AdviceRequest(setup, device, limit_bytes, tuple(devices), tuple(inputs), jax)
