"""What the fleet panel shows: the machines of a Ray cluster, and what was measured on each."""

from collections.abc import Mapping
from dataclasses import dataclass

from planner_app.core.measure.compare import Comparison
from planner_app.core.measure.measurement import Measurement, Order
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup
from planner_app.errors import SetupError
from planner_app.planner.fleet.measuring import Point
from planner_app.planner.fleet.nodes import KnownNode
from planner_app.units import format_bytes

COLUMNS = ("Host", "GPUs", "Memory of each", "Driver", "Kinds", "TensorFlow", "Measured", "Estimated", "Samples/s")
NONE = "-"


@dataclass(frozen=True, slots=True)
class MeasuredThere:
    """Attributes:
    comparison: None if memory ran out before a step finished.
    """

    node: str
    measurement: Measurement
    comparison: Comparison | None


@dataclass(frozen=True, slots=True)
class Row:
    """Attributes:
    cells: One for each of `COLUMNS`.
    tip: What was measured there, or why nothing can be.
    able: Whether it can be measured on.
    failed: Memory ran out there.
    """

    known: KnownNode
    cells: tuple[str, ...]
    tip: str
    able: bool
    failed: bool = False


@dataclass(frozen=True, slots=True)
class FleetValues:
    note: str = ""
    rows: tuple[Row, ...] = ()


def rows_of(nodes: tuple[KnownNode, ...], measured: Mapping[str, MeasuredThere]) -> tuple[Row, ...]:
    return tuple(_row(known, measured.get(known.node.number)) for known in nodes)


def point_on(known: KnownNode, model: CheckedModel, setup: Setup, limit_bytes: int | None) -> Point:
    """A measurement of the chosen setup on this machine: on its GPUs, or on its CPU if it has none.

    Raises:
        SetupError: The machine has fewer GPUs than the setup.
    """
    gpus = 0 if known.about is None else len(known.about.gpus)
    if 0 < gpus < setup.gpus:
        raise SetupError(f"{known.node.host} has {gpus} of the {setup.gpus} GPUs of the setup: choose fewer GPUs.")
    inline = not gpus and limit_bytes is not None and setup.gpus == 1
    return Point(
        model,
        setup,
        on_gpu=bool(gpus),
        limit_bytes=limit_bytes,
        order=Order.INLINE if inline else Order.ORDINARY,
        node=known.node.number,
    )


def _row(known: KnownNode, there: MeasuredThere | None) -> Row:
    node, about = known.node, known.about
    kinds = ", ".join(node.kinds) or NONE
    if about is None:
        return Row(known, (node.host, NONE, NONE, NONE, kinds, NONE, "", "", ""), known.problem, able=False)
    memory = ", ".join("?" if each is None else format_bytes(each) for each in about.memory_bytes) or NONE
    head = (about.host, ", ".join(about.gpus) or "CPU only", memory, about.driver or NONE, kinds, about.tensorflow)
    able = bool(about.tensorflow and node.cpus)
    if there is None:
        why = "" if able else "It has no TensorFlow, or Ray gives it no CPU to work with."
        return Row(known, (*head, "", "", ""), about.problem or why, able)
    return Row(known, (*head, *_found(there)), _sentence(there), able, there.measurement.oom is not None)


def _found(there: MeasuredThere) -> tuple[str, str, str]:
    found, comparison = there.measurement, there.comparison
    peak, speed = found.peak_bytes, found.samples_per_second
    measured = "out of memory" if found.oom is not None else NONE if peak is None else format_bytes(peak)
    estimated = NONE if comparison is None else f"{format_bytes(comparison.estimated_bytes)} ({comparison.error:+.1%})"
    return measured, estimated, NONE if speed is None else f"{speed:.4g}"


def _sentence(there: MeasuredThere) -> str:
    setup, versions = there.measurement.setup, there.measurement.versions
    return (
        f"Batch {setup.batch:,}, {setup.precision} on {there.measurement.hardware}, with TensorFlow "
        f"{versions.tensorflow} and Keras {versions.keras}."
    )
