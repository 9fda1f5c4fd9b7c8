"""Measurements on a cluster: each one in fresh processes on some node, each one with exactly one end.

with Cluster(address) as cluster:
    results = measure_all(cluster, points, kept=FleetResults(), on_end=show, cancelled=event)
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from planner_app import __version__
from planner_app.core.measure.measurement import Measurement, Order
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup
from planner_app.errors import Cancelled, PlannerError
from planner_app.files.kept.fleet_results import FleetResults
from planner_app.fleet.cluster import Cluster
from planner_app.fleet.protocol import Again, Ended, Heard, Needs, Work
from planner_app.jobs.job import error_of
from planner_app.jobs.protocol import Failed, Progress
from planner_app.planner.fleet.on_node import MeasureThere
from planner_app.planner.fleet.shipping import ship

ENTRY = "planner_app.planner.fleet.on_node:measure"


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement.

    Attributes:
        kind: The kind of GPU, or a resource of Ray's; "" for any node.
        node: The number of a node, to measure on that one only; "" for any of the kind.
        on_gpu: On as many GPUs of one node as the setup has; else on the CPU, through the GPUs' allocator.
    """

    model: CheckedModel
    setup: Setup
    kind: str = ""
    on_gpu: bool = False
    limit_bytes: int | None = None
    order: Order = Order.ORDINARY
    steps: int | None = None
    fits: int = 0
    processes: int = 1
    node: str = ""

    @property
    def title(self) -> str:
        return f"{self.model.name}, batch {self.setup.batch}{f' on {self.kind}' if self.kind else ''}"

    @property
    def key(self) -> bytes:
        """All that the result depends on, the user's code with it."""
        work = self.work("")
        return msgspec.json.encode((work.request, work.needs))

    def work(self, name: str) -> Work:
        request = MeasureThere(
            plimsoll=__version__,
            shipped=ship(self.model),
            setup=self.setup,
            limit_bytes=self.limit_bytes,
            order=self.order,
            steps=self.steps,
            fits=self.fits,
            processes=self.processes,
        )
        needs = Needs(kind=self.kind, node=self.node, gpus=self.setup.gpus if self.on_gpu else 0)
        raw = msgspec.Raw(msgspec.json.encode(request))
        return Work(name=name, title=self.title, entry=ENTRY, request=raw, needs=needs)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one measurement ended.

    Attributes:
        problem: A sentence; "" if there is a measurement.
        attempts: How often it was begun; 0 if it was known already.
    """

    point: Point
    measurement: Measurement | None
    problem: str = ""
    attempts: int = 0


def measure_all(
    cluster: Cluster,
    points: Sequence[Point],
    *,
    kept: FleetResults | None = None,
    on_end: Callable[[Outcome], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: threading.Event | None = None,
) -> tuple[Outcome, ...]:
    """In the order of the points.

    Args:
        kept: What an earlier, interrupted run has found is not measured again.
        on_note: Hears one line for each node that died, or whatever else made a measurement begin again.

    Raises:
        Cancelled: What had ended by then is kept.
        WorkerError: The cluster is gone; likewise.
    """
    outcomes: dict[int, Outcome] = {}

    def end(number: int, outcome: Outcome) -> None:
        outcomes[number] = outcome
        if on_end is not None:
            on_end(outcome)

    for number, point in enumerate(points):
        if kept is not None and (known := kept.read(point.key)) is not None:
            end(number, Outcome(point, known))
    works = [point.work(str(number)) for number, point in enumerate(points) if number not in outcomes]
    for answer in cluster.run(works, cancelled):
        number = int(answer.name)
        if isinstance(answer, Again) and on_note is not None:
            on_note(answer.reason)
        elif isinstance(answer, Heard) and on_progress is not None:
            of = f"{len(outcomes)} of {len(points)} done; " if len(points) > 1 else ""
            text = f"{of}{answer.node}, {points[number].title}: {answer.event.text}"
            on_progress(msgspec.structs.replace(answer.event, text=text, results=()))
        elif isinstance(answer, Ended):
            outcome = _outcome(points[number], answer)
            if kept is not None and outcome.measurement is not None and not outcome.measurement.ended:
                kept.keep(points[number].key, outcome.measurement)
            if not _was_cancelled(answer):
                end(number, outcome)
    if cancelled is not None and cancelled.is_set():
        raise Cancelled
    return tuple(outcomes[number] for number in range(len(points)))


def measure_one(
    cluster: Cluster,
    point: Point,
    *,
    on_note: Callable[[str], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: threading.Event | None = None,
) -> Measurement:
    """
    Raises:
        PlannerError: Nothing was measured: why.
    """
    (outcome,) = measure_all(cluster, [point], on_note=on_note, on_progress=on_progress, cancelled=cancelled)
    if outcome.measurement is None:
        raise PlannerError(outcome.problem)
    return outcome.measurement


def _was_cancelled(answer: Ended) -> bool:
    return isinstance(answer.event, Failed) and answer.event.error == Cancelled.__name__


def _outcome(point: Point, answer: Ended) -> Outcome:
    if isinstance(answer.event, Failed):
        return Outcome(point, None, str(error_of(answer.event)), answer.attempts)
    return Outcome(point, msgspec.json.decode(answer.event.result, type=Measurement), "", answer.attempts)
