"""Compares an estimate with a measurement: the peak, by term and by layer.

Both sides are split in the same way: what existed before the step, what each phase has made, kernel scratch, and what
the allocator gave beyond the requested bytes. Each side sums to its peak.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner_app.core.estimate.breakdown import Term, snapshot
from planner_app.core.measure.measurement import Measurement, Order, Run
from planner_app.core.model.setup import Backend
from planner_app.core.model.trace import Phase
from planner_app.core.replay.memory import Memory, Point
from planner_app.core.replay.timeline import Moment, Origin, Timeline, by_layer, held_at

STATE = "kept from step to step"
SCRATCH = "kernel scratch"
OVERHEAD = "allocator overhead"
STEP = "temporary memory of the step"
MADE = {str(phase): f"made by the {phase} pass" for phase in Phase}
TERMS = (STATE, *MADE.values(), SCRATCH, OVERHEAD)


@dataclass(frozen=True, slots=True)
class Part:
    """One term or one layer. A layer's bytes are what the step made for it, without what stays between steps."""

    name: str
    estimated_bytes: int
    measured_bytes: int

    @property
    def difference_bytes(self) -> int:
        """Positive: more was estimated than measured."""
        return self.estimated_bytes - self.measured_bytes


@dataclass(frozen=True, slots=True)
class Comparison:
    """Attributes:
    estimated_bytes: The expected peak; `low_bytes` to `high_bytes` is its band.
    measured_bytes: Peaks of all processes.
    replicas: How many share the measured allocator: the estimate, which is for one, is multiplied by it.
    terms: Of the expected peak, and of one measured step. Empty if that was not watched.
    layers: Largest difference first.
    notes: What to keep in mind.
    """

    estimated_bytes: int
    low_bytes: int
    high_bytes: int
    measured_bytes: tuple[int, ...]
    estimated_live_bytes: int
    measured_live_bytes: int | None
    replicas: int
    terms: tuple[Part, ...] = ()
    layers: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> float:
        """0.01: one percent more was estimated than the median process took."""
        middle = sorted(self.measured_bytes)[len(self.measured_bytes) // 2]
        return self.estimated_bytes / middle - 1

    @property
    def in_band(self) -> bool:
        """Whether the peaks of all processes lie within the band."""
        return self.low_bytes <= min(self.measured_bytes) and max(self.measured_bytes) <= self.high_bytes


def compare(memory: Memory, measurement: Measurement) -> Comparison | None:
    """`memory` is of the measured setup's step, for the device it was measured on. None if nothing was measured."""
    peaks = max(measurement.peaks.values(), key=max, default=())
    if not peaks:
        return None
    batch = measurement.setup.per_gpu_batch
    if measurement.one_region and not memory.xla:
        memory = memory.in_one_region
    point = memory.point(batch)
    jax = measurement.setup.backend is Backend.JAX  # has books for each device of a mesh
    replicas = 1 if measurement.place.on_gpu or jax else measurement.setup.gpus
    run = _watched(measurement.runs)
    lives = [each.live_bytes for each in measurement.runs if each.live_bytes is not None]
    return Comparison(
        estimated_bytes=point.in_use_bytes * replicas,
        low_bytes=point.low_bytes * replicas,
        high_bytes=point.high_bytes * replicas,
        measured_bytes=peaks,
        estimated_live_bytes=point.live_bytes * replicas,
        measured_live_bytes=max(lives, default=None),
        replicas=replicas,
        terms=_terms(memory, batch, replicas, run) if run else _whole_terms(memory, point, measurement),
        layers=_layers(memory, batch, replicas, run.timeline) if run and run.timeline else (),
        notes=tuple(_notes(measurement, memory)),
    )


def estimated_timeline(memory: Memory, batch: int) -> Timeline:
    """The expected step on the axes of a measured one; its clock counts moments."""
    trace, buffers = memory.trace_at(batch), memory.buffers(batch)
    book = memory.in_use(batch)
    sizes = [size.at(batch) for size in trace.sizes]
    origins: dict[Origin, int] = {Origin("before the step"): 0}
    in_use = memory.point(batch).state_bytes
    moments: list[Moment] = []
    for place in range(buffers.last_step, len(buffers.moves)):
        entry = buffers.moves[place]
        buffer, sign = (entry, 1) if entry >= 0 else (~entry, -1)
        maker = buffers.maker[buffer]
        size = sign * sizes[buffers.size[buffer]]
        source = trace.sources[trace.operation(maker).source] if maker >= 0 else None
        origin = Origin(source.name, source.layer, str(source.phase)) if source else Origin("before the step")
        in_use = in_use + size if book is None else book[place - buffers.last_step]
        number = origins.setdefault(origin, len(origins))
        moments.append(Moment(len(moments), number, size, size, in_use, bool(buffers.scratch[buffer])))
    start = moments[0].in_use_bytes - moments[0].requested_bytes if moments else in_use
    return Timeline(memory.setup.target, start, tuple(origins), tuple(moments), estimated=True)


def _watched(runs: Iterable[Run]) -> Run | None:
    """The median process of those whose step was watched."""
    found = sorted(
        (run for run in runs if run.timeline), key=lambda run: run.timeline.peak_bytes if run.timeline else 0
    )
    return found[len(found) // 2] if found else None


def _terms(memory: Memory, batch: int, replicas: int, run: Run) -> tuple[Part, ...]:
    estimated, measured = _estimated_terms(memory, batch), _measured_terms(run)
    return tuple(
        Part(term, estimated.get(term, 0) * replicas, measured.get(term, 0))
        for term in TERMS
        if estimated.get(term) or measured.get(term)
    )


def _whole_terms(memory: Memory, point: Point, measurement: Measurement) -> tuple[Part, ...]:
    """Of a step that runs as one program: variables and the batch, which are there before it, and the rest."""
    run = next((each for each in measurement.runs if each.state_bytes is not None and each.steps), None)
    if run is None or run.state_bytes is None:
        return ()
    peak = max(memory.peak_bytes for memory in run.steady[-1].memory)
    trace = memory.trace_at(point.batch)
    held = sum(trace.sizes[variable.size].at(point.batch) for variable in trace.variables)
    return (
        Part(STATE, held, run.state_bytes),
        Part(STEP, point.in_use_bytes - held, peak - run.state_bytes),
    )


def _estimated_terms(memory: Memory, batch: int) -> Mapping[str, int]:
    point = memory.point(batch)
    moment = snapshot(memory.trace_at(batch), memory.buffers(batch), batch, point.peak.move)
    total: dict[str, int] = defaultdict(int)
    for held in moment.held:
        scratch = held.term is Term.SCRATCH
        total[SCRATCH if scratch else MADE.get(held.phase, STATE)] += held.size_bytes
    total[OVERHEAD] = point.in_use_bytes - moment.requested_bytes
    return total


def _measured_terms(run: Run) -> Mapping[str, int]:
    """What existed before the step is known in chunks only, unless its allocation was watched."""
    timeline = run.timeline
    if timeline is None:
        return {}
    total: dict[str, int] = defaultdict(int)
    for held in held_at(timeline, timeline.peak):
        total[SCRATCH if held.scratch else MADE.get(held.origin.phase, STATE)] += held.requested_bytes
        total[OVERHEAD] += held.chunk_bytes - held.requested_bytes
    before = timeline.peak_bytes - sum(total.values())
    total[STATE] += min(before, run.state_bytes) if run.state_bytes is not None else before
    total[OVERHEAD] += timeline.peak_bytes - sum(total.values())
    return total


def _layers(memory: Memory, batch: int, replicas: int, timeline: Timeline) -> tuple[Part, ...]:
    point = memory.point(batch)
    moment = snapshot(memory.trace_at(batch), memory.buffers(batch), batch, point.peak.move)
    estimated: dict[str, int] = defaultdict(int)
    for held in moment.held:
        if held.phase:
            estimated[held.layer] += held.size_bytes * replicas
    measured = by_layer(tuple(held for held in held_at(timeline, timeline.peak) if held.origin.phase))
    parts = [Part(name, estimated[name], measured.get(name, 0)) for name in dict.fromkeys((*estimated, *measured))]
    return tuple(sorted(parts, key=lambda part: -abs(part.difference_bytes)))


def _notes(measurement: Measurement, memory: Memory) -> Iterable[str]:
    if measurement.setup.backend is Backend.JAX:
        if not measurement.place.on_gpu:
            yield "XLA's program for the CPU is laid out unlike a GPU's, which the estimate is for: compare the state."
        return
    if not measurement.place.on_gpu and measurement.setup.gpus > 1:
        yield (
            f"{measurement.setup.gpus} replicas on the CPU share one allocator and reduce gradients with their own "
            "ring, whose copies no GPU makes: the comparison is of all of them together."
        )
    if measurement.order is Order.ORDINARY and not measurement.place.on_gpu:
        yield "Kernels ran on a thread pool, in an order that differs from step to step and from a GPU's."
    if memory.xla != any(run.xla for run in measurement.runs):
        yield "One of the two is compiled by XLA, the other is not."
