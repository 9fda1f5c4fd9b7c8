"""Traces and compile checks on a cluster: they need no GPU, so any node with TensorFlow makes them."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from planner_app import __version__
from planner_app.core.compile.check import CompileCheck
from planner_app.core.hardware.device import Device
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.errors import Cancelled
from planner_app.files.devices.targets import target_of
from planner_app.fleet.cluster import Cluster
from planner_app.fleet.protocol import Again, Ended, Heard, Work
from planner_app.jobs.job import error_of
from planner_app.jobs.protocol import Failed
from planner_app.planner.fleet.on_node import CompileThere, TracedThere, TraceThere
from planner_app.planner.fleet.shipping import ship
from planner_app.planner.tracer import OnProgress, Tracer, alike

ROOM = "planner_app.planner.fleet.on_node"
OnNote = Callable[[str], None] | None


def trace_on(
    cluster: Cluster,
    tracer: Tracer,
    steps: Iterable[StepSetup],
    *,
    on_note: OnNote = None,
    on_progress: OnProgress = None,
    cancelled: threading.Event | None = None,
) -> None:
    """The traces that are missing here, made there: afterwards they are as if they had been made here.

    Raises:
        PlannerError: A node could not: why. Its versions must be those of this machine.
    """
    groups = alike(tracer.missing(steps))
    asked = [TraceThere(__version__, ship(tracer.model), tuple(group), dict(tracer.versions)) for group in groups]
    works = [_work(n, f"trace {n + 1} of {len(asked)}", "trace", request) for n, request in enumerate(asked)]
    for number, result in _results(cluster, works, on_note, on_progress, cancelled):
        for setup, trace in zip(groups[number], msgspec.json.decode(result, type=TracedThere).traces, strict=True):
            tracer.take(setup, trace)


def compile_on(
    cluster: Cluster,
    model: CheckedModel,
    setups: Sequence[Setup],
    devices: Sequence[Device],
    *,
    on_note: OnNote = None,
    on_progress: OnProgress = None,
    cancelled: threading.Event | None = None,
) -> list[CompileCheck]:
    """Every setup on every device, in this order.

    Raises:
        PlannerError: A node could not: why.
    """
    for device in devices:
        target_of(device)  # what can't be compiled for is said before minutes are spent on others
    shipped = ship(model)
    asked = [CompileThere(__version__, shipped, setup, device) for setup in setups for device in devices]
    works = [
        _work(n, f"batch {request.setup.batch} for {request.device.name}", "compile_check", request)
        for n, request in enumerate(asked)
    ]
    found = dict(_results(cluster, works, on_note, on_progress, cancelled))
    return [msgspec.json.decode(found[number], type=CompileCheck) for number in range(len(works))]


def _work(number: int, title: str, entry: str, request: TraceThere | CompileThere) -> Work:
    raw = msgspec.Raw(msgspec.json.encode(request, enc_hook=dict))  # a device's mappings can't be changed
    return Work(name=str(number), title=title, entry=f"{ROOM}:{entry}", request=raw)


def _results(
    cluster: Cluster,
    works: Sequence[Work],
    on_note: OnNote,
    on_progress: OnProgress,
    cancelled: threading.Event | None,
) -> Iterator[tuple[int, msgspec.Raw]]:
    """As they come; the first that fails ends all."""
    for answer in cluster.run(works, cancelled):
        if isinstance(answer, Again) and on_note is not None:
            on_note(answer.reason)
        elif isinstance(answer, Heard) and on_progress is not None:
            text = f"{answer.node}, {works[int(answer.name)].title}: {answer.event.text}"
            on_progress(msgspec.structs.replace(answer.event, text=text, results=()))
        elif isinstance(answer, Ended):
            if isinstance(answer.event, Failed):
                raise error_of(answer.event)
            yield int(answer.name), answer.event.result
    if cancelled is not None and cancelled.is_set():
        raise Cancelled
