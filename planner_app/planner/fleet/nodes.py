"""What a cluster's nodes say of themselves, and small models on each kind of them."""

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from planner_app import __version__
from planner_app.core.hardware.machine import Gpu
from planner_app.errors import DeviceError
from planner_app.files.kept.calibrations import Calibrations
from planner_app.fleet.cluster import Cluster
from planner_app.fleet.protocol import Again, Ended, Heard, Needs, Node, Work
from planner_app.jobs.job import error_of
from planner_app.jobs.protocol import Failed, Finished, Progress
from planner_app.planner.fleet.on_node import About, Tested, TestThere

ROOM = "planner_app.planner.fleet.on_node"


@dataclass(frozen=True, slots=True)
class KnownNode:
    """Attributes:
    about: None where the node could not be asked; `problem` says why.
    """

    node: Node
    about: About | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TestedNode:
    node: Node
    tested: Tested | None
    problem: str = ""


def known_nodes(cluster: Cluster, cancelled: threading.Event | None = None) -> tuple[KnownNode, ...]:
    nodes = cluster.nodes()
    works = [
        Work(
            name=node.number,
            title=node.host,
            entry=f"{ROOM}:about",
            request=msgspec.Raw(b"null"),
            needs=Needs(node=node.number, cpus=0),
            tries=1,
        )
        for node in nodes
    ]
    found: dict[str, tuple[About | None, str]] = {}
    for answer in cluster.run(works, cancelled):
        if isinstance(answer, Ended):
            event = answer.event
            failed = isinstance(event, Failed)
            found[answer.name] = (
                None if isinstance(event, Failed) else msgspec.json.decode(event.result, type=About),
                event.reason if failed and isinstance(event, Failed) else "",
            )
    return tuple(KnownNode(node, *found[node.number]) for node in nodes if node.number in found)


def gpu_of_kind(cluster: Cluster, kind: str, cancelled: threading.Event | None = None) -> Gpu:
    """A GPU of that kind, or of any where none is named, as the driver of its node describes it.

    Raises:
        DeviceError: No node has one.
    """
    for known in known_nodes(cluster, cancelled):
        about = known.about
        if about is not None and about.gpus and (not kind or kind in known.node.kinds):
            return Gpu(0, name=about.gpus[0], total_bytes=about.memory_bytes[0])
    raise DeviceError(f"No node has a GPU{f' of the kind {kind!r}' if kind else ''}: `plimsoll fleet` lists them.")


def selftest_nodes(
    cluster: Cluster,
    nodes: Sequence[Node],
    *,
    minutes: float,
    on_note: Callable[[str], None],
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: threading.Event | None = None,
) -> tuple[TestedNode, ...]:
    """Each node by itself, all at once: on its first GPU, or on its CPU if it has none."""
    works = [
        Work(
            name=node.number,
            title=f"selftest of {node.host}",
            entry=f"{ROOM}:selftest",
            request=_asked(minutes),
            needs=Needs(node=node.number, gpus=min(1, int(node.gpus)), cpus=1),
        )
        for node in nodes
    ]
    ends: dict[str, Finished | Failed] = {}
    for answer in cluster.run(works, cancelled):
        if isinstance(answer, Ended):
            ends[answer.name] = answer.event
        elif isinstance(answer, Again):
            on_note(answer.reason)
        elif isinstance(answer, Heard) and on_progress is not None:
            on_progress(msgspec.structs.replace(answer.event, text=f"{answer.node}: {answer.event.text}"))
    return tuple(_tested(node, ends[node.number]) for node in nodes)


def keep_calibrations(tested: Iterable[TestedNode], store: Calibrations) -> None:
    """What the small models have shown: later estimates for those GPUs use it."""
    found = [each for node in tested if node.tested for each in node.tested.calibrations]
    if found:
        store.take_in(found)


def selftest_of_kind(
    cluster: Cluster,
    kind: str,
    *,
    gpus: int,
    minutes: float,
    on_note: Callable[[str], None],
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: threading.Event | None = None,
) -> Tested:
    """On one node that has it.

    Raises:
        PlannerError: It could not be done: why.
    """
    title = f"selftest{f' on {kind}' if kind else ''}"
    needs = Needs(kind=kind, gpus=gpus)
    work = Work(name=title, title=title, entry=f"{ROOM}:selftest", request=_asked(minutes), needs=needs)
    end: Finished | Failed = Failed(error="Cancelled", reason="Cancelled.")
    for answer in cluster.run([work], cancelled):
        if isinstance(answer, Ended):
            end = answer.event
        elif isinstance(answer, Again):
            on_note(answer.reason)
        elif isinstance(answer, Heard) and on_progress is not None:
            on_progress(msgspec.structs.replace(answer.event, text=f"{answer.node}: {answer.event.text}"))
    if isinstance(end, Failed):
        raise error_of(end)
    return msgspec.json.decode(end.result, type=Tested)


def _asked(minutes: float) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(TestThere(__version__, minutes)))


def _tested(node: Node, event: Finished | Failed) -> TestedNode:
    if isinstance(event, Failed):
        return TestedNode(node, None, event.reason)
    return TestedNode(node, msgspec.json.decode(event.result, type=Tested))
