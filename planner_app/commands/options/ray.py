"""Options of commands that can run on a Ray cluster."""

import sys
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from planner_app.core.hardware.machine import Gpu
from planner_app.core.measure.measurement import Measurement, Place
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup
from planner_app.fleet.cluster import HERE, Cluster
from planner_app.foreign_text import for_line
from planner_app.planner.fleet.measuring import Point, measure_one
from planner_app.planner.fleet.nodes import gpu_of_kind
from planner_app.planner.measuring.measure import measure as measure_here


def add_ray(parser: ArgumentParser | _ArgumentGroup) -> None:
    add_address(parser)
    parser.add_argument(
        "--kind", default="", metavar="NAME", help="with --ray: a GPU kind as Ray has it (L4), or a node's resource"
    )


def add_address(parser: ArgumentParser | _ArgumentGroup) -> None:
    parser.add_argument(
        "--ray",
        nargs="?",
        const=HERE,
        metavar="ADDRESS",
        help="on a Ray cluster: host:port of its head, or nothing for the cluster that this machine belongs to",
    )


class OnCluster:
    """Measures as `measure` does, on a node that has what is needed."""

    def __init__(self, cluster: Cluster, kind: str) -> None:
        self._cluster, self._kind = cluster, kind

    def measure(
        self,
        model: CheckedModel,
        setup: Setup,
        place: Place,
        *,
        on_part: object = None,  # noqa: ARG002 - a node's answer comes whole
        on_progress: Any = None,
        cancelled: Any = None,
        **more: Any,
    ) -> Measurement:
        point = Point(model, setup, self._kind, place.on_gpu, place.limit_bytes, **more)
        return measure_one(self._cluster, point, on_note=tell, on_progress=on_progress, cancelled=cancelled)

    def gpu(self, cancelled: Any) -> Gpu:
        return gpu_of_kind(self._cluster, self._kind, cancelled)


@contextmanager
def on_cluster(options: Namespace) -> Iterator[OnCluster | None]:
    """None without --ray.

    Raises:
        PlannerError: Ray is not installed, or there is no such cluster.
    """
    if options.ray is None:
        yield None
        return
    with Cluster(options.ray) as cluster:
        yield OnCluster(cluster, options.kind)


def measuring(where: OnCluster | None) -> Callable[..., Measurement]:
    return measure_here if where is None else where.measure


def tell(sentence: str) -> None:
    sys.stderr.write(f"plimsoll: {for_line(sentence)}\n")
