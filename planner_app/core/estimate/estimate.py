"""One setup on one device: how much memory it needs, what for, in which layers, and whether it fits."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from planner_app.core.estimate.breakdown import Held, Snapshot, Term, snapshot
from planner_app.core.estimate.compiled_moment import compiled_moment
from planner_app.core.estimate.level import Level, Source
from planner_app.core.estimate.need import Need
from planner_app.core.estimate.verdict import Verdict, judge
from planner_app.core.measure.calibration import sentence
from planner_app.core.model.setup import Backend, Setup
from planner_app.core.model.trace import UNSAID, Role, StepTrace, Trained
from planner_app.core.replay.band import BandPart
from planner_app.core.sharding.fraction import fraction_text

MOST_HELD = 50  # entries of what is alive at the peak; the rest is in the totals


@dataclass(frozen=True, slots=True)
class LayerMemory:
    """One layer's share. `peak_bytes` is its memory at the peak; the shares of all layers sum to the peak."""

    name: str
    class_name: str
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activation_bytes: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Memory of one GPU.

    Attributes:
        peak_bytes: In use, as the allocator counts it: expected. `low_bytes` and `high_bytes` are the band.
        live_bytes: Requested at the peak, scratch not counted.
        temp_bytes: Kernels' scratch at the peak.
        device_bytes: Including what lies outside the allocator, as nvidia-smi would report it.
        capacity_bytes: What the allocator may take on this device; None without a limit.
        verdict: Whether it fits; None without a limit.
        breakdown: Term to bytes; they sum to `peak_bytes`.
        source: Whether the figure is an estimate, the compiler's own, or between two of the compiler's.
        band: What leads from the expected peak to the ends of the band, before any calibration.
        comfortable_bytes: The peak when cuDNN gets the workspace of its fastest kernels; `peak_bytes` is what it needs.
    """

    setup: Setup
    device: str
    xla: bool
    peak_bytes: int
    low_bytes: int
    high_bytes: int
    live_bytes: int
    temp_bytes: int
    state_bytes: int
    device_bytes: int
    capacity_bytes: int | None
    verdict: Verdict | None
    breakdown: Mapping[str, int]
    layers: tuple[LayerMemory, ...]
    peak_operation: str
    peak_layer: str
    peak_phase: str
    held: tuple[Held, ...]
    warnings: tuple[str, ...] = ()
    trained: Trained = UNSAID
    source: Source = Source.ESTIMATE
    band: tuple[BandPart, ...] = ()
    comfortable_bytes: int = 0

    @property
    def fits(self) -> bool | None:
        """Tight counts as yes; None without a limit."""
        return None if self.verdict is None else self.verdict.yes()

    @property
    def level(self) -> Level:
        return Level(self.peak_bytes, self.low_bytes, self.high_bytes, self.source)

    @property
    def headroom_bytes(self) -> int | None:
        return None if self.capacity_bytes is None else self.capacity_bytes - self.peak_bytes


def estimate(need: Need, setup: Setup) -> Estimate:
    """`need` is the memory of `setup` on its device."""
    memory, batch = need.memory, setup.per_gpu_batch
    point, level, capacity = memory.point(batch), need.level(batch), need.capacity_bytes
    moment, laid_out_bytes = _at_the_peak(need, batch)
    moved = level.peak_bytes - laid_out_bytes
    *rows, rest = layers(memory.trace_at(batch), batch, moment, laid_out_bytes)
    return Estimate(
        setup=setup,
        device=need.device.name,
        xla=memory.xla,
        peak_bytes=level.peak_bytes,
        low_bytes=level.low_bytes,
        high_bytes=level.high_bytes,
        live_bytes=point.live_bytes,
        temp_bytes=sum(held.size_bytes for held in moment.held if held.term is Term.SCRATCH),
        state_bytes=point.state_bytes,
        device_bytes=level.peak_bytes + need.outside_bytes(setup.gpus),
        capacity_bytes=capacity,
        verdict=None if capacity is None else judge(level, capacity),
        breakdown=_breakdown(level, moment, laid_out_bytes),
        layers=(*rows, replace(rest, peak_bytes=rest.peak_bytes + moved)),
        peak_operation=moment.operation,
        peak_layer=moment.layer,
        peak_phase=moment.phase,
        held=moment.held[:MOST_HELD],
        warnings=(*memory.trace.warnings, *_said(need, level), *_of_jax(need, setup, level)),
        trained=memory.trace.trained,
        source=level.source,
        band=point.band,
        comfortable_bytes=(point.comfortable_bytes or point.in_use_bytes) + moved,
    )


def peak_terms(need: Need, batch: int) -> dict[str, int]:
    """The breakdown alone: what the expected peak of `batch` samples is made of."""
    return _breakdown(need.level(batch), *_at_the_peak(need, batch))


def _at_the_peak(need: Need, batch: int) -> tuple[Snapshot, int]:
    """What is alive at the peak, and the bytes of the chunks that hold it."""
    memory, point = need.memory, need.memory.point(batch)
    trace = memory.trace_at(batch)
    moment = snapshot(trace, memory.buffers(batch), batch, point.peak.move)
    if (anchor := need.line.anchor(batch)) is not None:
        return compiled_moment(trace, anchor.compiled, moment), need.level(batch).peak_bytes
    return moment, point.in_use_bytes


def _breakdown(level: Level, moment: Snapshot, laid_out_bytes: int) -> dict[str, int]:
    moved = level.peak_bytes - laid_out_bytes
    mover = Term.CALIBRATION if level.source is Source.ESTIMATE else Term.COMPILER
    return {**terms(moment, laid_out_bytes), **({str(mover): moved} if moved else {})}


def _of_jax(need: Need, setup: Setup, level: Level) -> tuple[str, ...]:
    return fraction_text(need.device, need.capacity_bytes, level.peak_bytes) if setup.backend is Backend.JAX else ()


def _said(need: Need, level: Level) -> Iterator[str]:
    """Remarks on the basis of a figure, and what limits it."""
    if level.source is Source.ESTIMATE and need.calibration is not None:
        yield sentence(need.calibration)
    if need.line.trouble:
        yield need.line.trouble


def terms(moment: Snapshot, peak_bytes: int) -> dict[str, int]:
    """Bytes by term; what chunks have beyond the requested bytes is allocator overhead."""
    total: dict[str, int] = {str(term): 0 for term in Term}
    for held in moment.held:
        total[str(held.term)] += held.size_bytes
    total[str(Term.OVERHEAD)] = peak_bytes - moment.requested_bytes
    return {term: size for term, size in total.items() if size}


def layers(trace: StepTrace, batch: int, moment: Snapshot, peak_bytes: int) -> tuple[LayerMemory, ...]:
    """Every layer's share, in the model's order; what belongs to no layer comes last."""
    classes = dict(trace.layers)
    static = _static(trace, batch)
    peak: dict[str, int] = defaultdict(int)
    kept: dict[str, int] = defaultdict(int)
    for held in moment.held:
        peak[held.layer] += held.size_bytes
        if held.term is Term.ACTIVATIONS:
            kept[held.layer] += held.size_bytes
    peak[""] += peak_bytes - moment.requested_bytes
    order = dict.fromkeys((*classes, *(source.layer for source in trace.sources), *static))
    order.pop("", None)
    rows = [
        LayerMemory(name, classes.get(name, ""), *static.get(name, (0, 0, 0)), kept[name], peak[name]) for name in order
    ]
    rows.append(LayerMemory("", "", *static.get("", (0, 0, 0)), kept[""], peak[""]))
    return tuple(rows)


def _static(trace: StepTrace, batch: int) -> dict[str, tuple[int, int, int]]:
    """Weights, gradients and optimizer state by layer. Gradients have the size of the weights that are trained."""
    total: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for variable in trace.variables:
        size = trace.sizes[variable.size].at(batch)
        if variable.role in (Role.WEIGHT, Role.FROZEN):
            total[variable.layer][0] += size
        if variable.role is Role.WEIGHT:
            total[variable.layer][1] += size
        if variable.role is Role.OPTIMIZER:
            total[variable.layer][2] += size
    return {layer: (sizes[0], sizes[1], sizes[2]) for layer, sizes in total.items()}
