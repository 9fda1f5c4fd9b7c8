"""Turns the memory of a step into a plan: the first setup that fits, and below it those that need less.

Every rung trains with the same global batch: first fewer samples at a time and more accumulation steps, then, if the
user allows it, a lower precision.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner_app.core.estimate.estimate import peak_terms
from planner_app.core.estimate.level import Level
from planner_app.core.estimate.level import Source as LevelSource
from planner_app.core.estimate.need import Need, Needs
from planner_app.core.estimate.verdict import judge
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.runtime import MIB
from planner_app.core.measure.calibration import sentence
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import OWN, Backend, Precision, Setup, StepSetup
from planner_app.core.model.trace import Role, StepTrace, Trained
from planner_app.core.plan.pipeline import InputSettings, input_plan, sample_bytes
from planner_app.core.plan.plan import (
    VERSION,
    Allocator,
    DeviceKind,
    Entry,
    LargestAtOnce,
    MemorySettings,
    Peak,
    Plan,
    PlannedDevice,
    PlannedModel,
    PlannedOptimizer,
    PlannedSharding,
    Rung,
    Source,
    SourceKind,
    Training,
    fingerprint,
)
from planner_app.core.sharding.fraction import VARIABLE as FRACTION
from planner_app.core.sharding.fraction import memory_fraction
from planner_app.errors import PlanError
from planner_app.units import format_bytes

MOST_RUNGS = 6  # in one precision: each halves the batch, so the last has a thirtieth of the first
WORTH_IT = 0.95  # a rung that saves less than a twentieth is not worth a restart
# Variables of layers are as wide as this: mixed policies keep them in float32.
VARIABLE_BYTES = {Precision.FLOAT64: 8, Precision.FLOAT16: 2, Precision.BFLOAT16: 2}


class DoesNotFit(PlanError):
    """No setup with this batch fits."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a plan is made from.

    Attributes:
        setup: The setup to try first; every rung keeps its batch.
        precisions: Lower precisions that a rung may take, in this order.
        hosts: Addresses of the machines that train together, each with an equal share of the GPUs.
        sure: The first rung fits even at the high end of the band: tight does not count.
        weight_sizes: Elements of the arrays that are trained, where a trace has only one GPU's share of them.
    """

    setup: Setup
    devices: tuple[Device, ...]
    precisions: tuple[Precision, ...] = ()
    memory: MemorySettings = field(default_factory=MemorySettings)
    hosts: tuple[str, ...] = ()
    input: InputSettings = field(default_factory=InputSettings)
    sure: bool = False
    weight_sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.hosts and self.setup.backend is Backend.JAX:
            raise PlanError(
                "A plan for several hosts is for Keras on TensorFlow; on JAX a mesh is of one machine's GPUs. Leave "
                "out the hosts, or the backend."
            )


def needed_steps(request: PlanRequest) -> tuple[StepSetup, ...]:
    """The traces that `plan_of` needs: plain and accumulating, in each precision, for each device."""
    return tuple(
        dict.fromkeys(
            setup.step(device.target)
            for device in request.devices
            for precision in (request.setup.precision, *request.precisions)
            for setup in _both(replace(request.setup, precision=precision))
        )
    )


def _both(setup: Setup) -> Iterator[Setup]:
    if setup.accumulate == 1:
        yield setup
    more = [steps for steps in accumulations(setup) if steps > 1]
    if more:
        yield replace(setup, accumulate=more[0])


def plan_of(
    model: CheckedModel,
    needs: Needs,
    request: PlanRequest,
    *,
    file: str,
    created: str,
    versions: Mapping[str, str],
) -> Plan:
    """The plan for a model, from the traces of `needed_steps(request)`.

    Args:
        file: The model's file name, or `file.py:function`, without its folder.
        created: Now, as in "2026-11-16T05:00:00Z".
        versions: Of what the figures depend on: plimsoll, tensorflow, keras.

    Raises:
        DoesNotFit: No rung fits on any of the devices.
    """
    source = Source(SourceKind.ESTIMATE, dict(versions), created, "")
    entries, said = [], []
    for device in request.devices:
        try:
            entries.append(entry_of(needs, request, device, source))
        except DoesNotFit as error:
            said.append(str(error))
    if not entries:
        raise DoesNotFit(" ".join(said))
    setup = request.setup
    first = next(iter(needs.memories.values()))
    said += [text for text in first.trace.warnings if text not in said]
    said += _warnings(entries, setup, first.trace)
    calibrations = [_first_need(needs, request, device).calibration for device in request.devices]
    said += [sentence(calibration) for calibration in calibrations if calibration is not None]
    return Plan(
        schema_version=VERSION,
        created=created,
        versions=dict(versions),
        model=planned_model(model, file, first.trace, setup.precision, request.weight_sizes),
        training=Training(
            global_batch=setup.batch,
            optimizer=_optimizer(setup, first.trace.trained),
            loss=setup.loss or _loss(model, first.trace.trained),
            freeze=setup.freeze,
            remat=setup.remat,
            sizes=dict(setup.sizes),
            lora=setup.lora,
            quantize=setup.quantize,
        ),
        devices=tuple(entries),
        hosts=request.hosts,
        input=input_plan(request.input, sample_bytes(first.trace), setup.batch),
        warnings=tuple(said),
    )


def entry_of(needs: Needs, request: PlanRequest, device: Device, source: Source) -> Entry:
    first = _first_need(needs, request, device)
    capacity = first.capacity_bytes
    rungs = ladder(needs, request, device, source)
    largest, sure = first.largest(), first.largest(sure=True)
    return Entry(
        device=PlannedDevice(
            name=device.name,
            kind=DeviceKind.GPU if device.cuda else DeviceKind.CPU,
            total_bytes=device.total_bytes,
            compute_capability=device.compute_capability,
            capacity_bytes=capacity,
        ),
        gpus=request.setup.gpus,
        memory=request.memory if device.cuda else MemorySettings(),
        environment=environment(device, request.memory, capacity, request.setup),
        rungs=rungs,
        largest=None if largest is None or sure is None else LargestAtOnce(largest.batch, sure.batch),
        sharding=planned_sharding(request.setup),
    )


def _first_need(needs: Needs, request: PlanRequest, device: Device) -> Need:
    """Of the setup as it was asked for."""
    return needs.of(next(_both(request.setup)), device, request.memory.limit_bytes)


def ladder(needs: Needs, request: PlanRequest, device: Device, source: Source) -> tuple[Rung, ...]:
    """Rungs that fit, each needing less than the one before."""
    rungs: list[Rung] = []
    least: Rung | None = None
    capacity = _first_need(needs, request, device).capacity_bytes
    for setup in rung_setups(request):
        if sum(rung.precision is setup.precision for rung in rungs) == MOST_RUNGS:
            continue
        need = needs.of(setup, device, request.memory.limit_bytes)
        rung = _rung(need, setup, source)
        if least is None or rung.peak.expected_bytes < least.peak.expected_bytes:
            least = rung
        lower = not rungs or rung.peak.expected_bytes < rungs[-1].peak.expected_bytes * WORTH_IT
        fits = capacity is None or judge(need.level(setup.per_gpu_batch), capacity).yes(sure=request.sure and not rungs)
        if lower and fits:
            terms = peak_terms(need, setup.per_gpu_batch)
            rungs.append(replace(rung, peak=replace(rung.peak, terms=terms)))
    if not rungs and least is not None and capacity is not None:
        needed = least.peak.high_bytes if request.sure else least.peak.expected_bytes
        raise DoesNotFit(
            f"A batch of {request.setup.batch} does not fit {device.name}: with {least.per_gpu_batch} at a time in "
            f"{least.precision} a GPU needs {format_bytes(needed)}, but {request.setup.backend.label} gets "
            f"{format_bytes(capacity)}. "
            "Allow a lower precision, train fewer layers, or use a larger device."
        )
    return tuple(rungs)


def accumulations(setup: Setup) -> list[int]:
    """Numbers of accumulation steps to try: from the setup's own on, about doubling, up to one sample at a time.

    Prefers numbers that divide the batch evenly: every step then has the same shape and is compiled only once.
    """
    share = -(-setup.batch // setup.replicas)
    found = [setup.accumulate]
    while found[-1] < share:
        last = found[-1]
        even = [
            k for k in range(last + (last + 1) // 2, min(3 * last, share) + 1) if not setup.batch % (setup.replicas * k)
        ]
        following = min(even, key=lambda k: abs(k - 2 * last), default=min(2 * last, share))
        if following * setup.replicas > setup.batch or (setup.backend is Backend.JAX and not even):
            break
        found.append(following)
    return found


def _rung(need: Need, setup: Setup, source: Source) -> Rung:
    level = need.level(setup.per_gpu_batch)
    return Rung(
        per_gpu_batch=setup.per_gpu_batch,
        accumulate=setup.accumulate,
        precision=setup.precision,
        jit=need.memory.xla,
        peak=Peak(
            expected_bytes=level.peak_bytes,
            low_bytes=level.low_bytes,
            high_bytes=level.high_bytes,
            device_bytes=level.peak_bytes + need.outside_bytes(setup.gpus),
            source=source_of(level, need, source),
        ),
    )


def source_of(level: Level, need: Need, estimate: Source) -> Source:
    """Of a rung that was compiled, with the compiler's versions beside the others."""
    if level.source is not LevelSource.COMPILER:
        return estimate
    return replace(estimate, kind=SourceKind.COMPILE, versions={**need.line.versions, **estimate.versions})


def rung_setups(request: PlanRequest) -> Iterator[Setup]:
    """What `ladder` tries, in its order."""
    for precision in (request.setup.precision, *request.precisions):
        for accumulate in accumulations(request.setup):
            yield replace(request.setup, precision=precision, accumulate=accumulate)


def planned_sharding(setup: Setup) -> PlannedSharding | None:
    """The layout has its rules by now, see `Planner.plan`."""
    if setup.backend is not Backend.JAX:
        return None
    rules = {rule.pattern: rule.axes for rule in setup.layout.rules}
    return PlannedSharding(setup.mesh.data, setup.mesh.model, str(setup.layout.name), rules)


def environment(device: Device, memory: MemorySettings, capacity: int | None, setup: Setup) -> dict[str, str]:
    """What must be set before TensorFlow or JAX is imported, for the figures to hold."""
    found = {"KERAS_BACKEND": str(setup.backend)}
    if setup.backend is Backend.JAX:
        if device.cuda and capacity is not None:
            found[FRACTION] = memory_fraction(device, capacity)
        return found
    if not device.cuda:
        # The CPU device on the allocator of GPUs, one for all replicas. oneDNN's kernels take memory of their own.
        found |= {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_ENABLE_ONEDNN_OPTS": "0"}
        if capacity is not None:
            found["TF_CPU_BFC_MEM_LIMIT_IN_MB"] = str(max(1, capacity * setup.gpus // MIB))
        return found
    found["TF_FORCE_GPU_ALLOW_GROWTH"] = "true" if memory.growth else "false"
    if memory.allocator is Allocator.CUDA_MALLOC_ASYNC:
        found["TF_GPU_ALLOCATOR"] = str(memory.allocator)
    return found


def planned_model(
    model: CheckedModel, file: str, trace: StepTrace, precision: Precision, known: Sequence[int] = ()
) -> PlannedModel:
    """`known` are the sizes of what is trained, in elements, where the trace has only shares of them."""
    width = VARIABLE_BYTES.get(precision, 4)
    sizes = list(known) or [trace.sizes[v.size].at(1) // width for v in trace.variables if v.role is Role.WEIGHT]
    return PlannedModel(
        name=model.name,
        file=file,
        format=model.format,
        sha256=model.sha256,
        parameters=sum(sizes),
        weights=len(sizes),
        fingerprint=fingerprint(sizes),
    )


def _optimizer(setup: Setup, trained: Trained) -> PlannedOptimizer:
    """The setup's, or "own": the one that the model is compiled with. Without one, what the estimate assumed."""
    if setup.optimizer == OWN and any(each.startswith("optimizer") for each in trained.assumed):
        return PlannedOptimizer("adam", {})
    return PlannedOptimizer(setup.optimizer.name, dict(setup.optimizer.options))


def _loss(model: CheckedModel, trained: Trained) -> str:
    """The saved loss if it is a plain name, else ""; without a saved loss, the one that estimates use."""
    saved = (model.compile_config or {}).get("loss")
    if any(each.startswith("loss") for each in trained.assumed):
        return "mean_squared_error"
    return saved if isinstance(saved, str) else ""


def _warnings(entries: Sequence[Entry], setup: Setup, trace: StepTrace) -> list[str]:
    said = []
    for entry in entries:
        first = entry.rungs[0]
        if first.accumulate > setup.accumulate or first.precision is not setup.precision:
            said.append(
                f"On {entry.device.name} the batch of {setup.batch} does not fit at once: train it "
                f"{first.per_gpu_batch} at a time in {first.accumulate} steps, {first.precision}."
            )
    normalised = [name for name, kind in trace.layers if kind == "BatchNormalization"]
    if normalised and any(rung.accumulate > 1 for entry in entries for rung in entry.rungs):
        said.append(
            f"Batch normalisation ({len(normalised)} layers, the first is {normalised[0]}) works on the samples of one "
            "step: with accumulation these are fewer than the batch."
        )
    return said
