"""From the memory of a step to a plan: the first way to train that fits, and below it those that need less.

Every rung trains with the same global batch: first fewer samples at a time and more accumulation steps, then, where the
user allows it, a lower precision.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner_app.core.estimate.curve import level_at
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.runtime import MIB, allocator_limit_bytes, outside_bytes
from planner_app.core.measure.calibration import Calibration, Taught, calibrated_level, sentence, untaught
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Precision, Setup, StepSetup
from planner_app.core.model.trace import Role, StepTrace
from planner_app.core.plan.pipeline import InputSettings, input_plan, sample_bytes
from planner_app.core.plan.plan import (
    VERSION,
    Allocator,
    DeviceKind,
    Entry,
    MemorySettings,
    Peak,
    Plan,
    PlannedDevice,
    PlannedModel,
    PlannedOptimizer,
    Rung,
    Source,
    SourceKind,
    Training,
    fingerprint,
)
from planner_app.core.replay.memory import Memory
from planner_app.errors import PlanError
from planner_app.units import format_bytes

MOST_RUNGS = 6  # in one precision: each halves the batch, so the last has a thirtieth of the first
WORTH_IT = 0.95  # a rung that saves less than a twentieth is not worth a restart
# Variables of layers are as wide as this: mixed policies keep them in float32.
VARIABLE_BYTES = {Precision.FLOAT64: 8, Precision.FLOAT16: 2, Precision.BFLOAT16: 2}


class DoesNotFit(PlanError):
    """No way to train with this batch fits."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a plan is made from.

    Attributes:
        setup: The way to train that is tried first; its batch is kept on every rung.
        precisions: Lower precisions that a rung may take, in this order.
        hosts: Addresses of the machines that train together, each with an equal part of the GPUs.
        surely: The first rung fits even at the high end of the band, not only as expected.
    """

    setup: Setup
    devices: tuple[Device, ...]
    precisions: tuple[Precision, ...] = ()
    memory: MemorySettings = field(default_factory=MemorySettings)
    hosts: tuple[str, ...] = ()
    input: InputSettings = field(default_factory=InputSettings)
    surely: bool = False


def needed_steps(wish: Wish) -> tuple[StepSetup, ...]:
    """The traces that `plan_of` needs: plain and accumulating, in each precision, for each device."""
    return tuple(
        dict.fromkeys(
            setup.step(device.target)
            for device in wish.devices
            for precision in (wish.setup.precision, *wish.precisions)
            for setup in _both(replace(wish.setup, precision=precision))
        )
    )


def _both(setup: Setup) -> Iterator[Setup]:
    if setup.accumulate == 1:
        yield setup
    if setup.accumulate > 1 or setup.batch > setup.gpus:
        yield replace(setup, accumulate=max(setup.accumulate, 2))


def plan_of(
    model: CheckedModel,
    memories: Mapping[StepSetup, Memory],
    wish: Wish,
    *,
    file: str,
    created: str,
    versions: Mapping[str, str],
    taught: Taught = untaught,
) -> Plan:
    """The plan for a model, from the memory of `needed_steps(wish)`.

    Args:
        file: The model's file name, or `file.py:function`, without its folder.
        created: Now, as in "2026-11-16T05:00:00Z".
        versions: Of what the figures depend on: plimsoll, tensorflow, keras.
        taught: What measurements say of a device; the plan's warnings tell where it was heeded.

    Raises:
        DoesNotFit: On none of the devices does any rung fit.
    """
    source = Source(SourceKind.ESTIMATE, dict(versions), created, "")
    entries, said = [], []
    for device in wish.devices:
        try:
            entries.append(entry_of(memories, wish, device, source, taught))
        except DoesNotFit as error:
            said.append(str(error))
    if not entries:
        raise DoesNotFit(" ".join(said))
    setup = wish.setup
    first = next(iter(memories.values()))
    said += [text for text in first.trace.warnings if text not in said]
    said += _warnings(entries, setup, first.trace)
    said += [sentence(learnt) for learnt in _heeded(memories, wish, taught)]
    return Plan(
        schema_version=VERSION,
        created=created,
        versions=dict(versions),
        model=planned_model(model, file, first.trace, setup.precision),
        training=Training(
            global_batch=setup.batch,
            optimizer=PlannedOptimizer(setup.optimizer.name, dict(setup.optimizer.options)),
            loss=setup.loss or _saved_loss(model),
            freeze=setup.freeze,
            remat=setup.remat,
            sizes=dict(setup.sizes),
        ),
        devices=tuple(entries),
        hosts=wish.hosts,
        input=input_plan(wish.input, sample_bytes(first.trace), setup.batch),
        warnings=tuple(said),
    )


def entry_of(
    memories: Mapping[StepSetup, Memory], wish: Wish, device: Device, source: Source, taught: Taught = untaught
) -> Entry:
    capacity = capacity_bytes(device, wish.memory, _learnt(memories, wish, device, taught))
    rungs = ladder(memories, wish, device, capacity, source, taught)
    return Entry(
        device=PlannedDevice(
            name=device.name,
            kind=DeviceKind.GPU if device.cuda else DeviceKind.CPU,
            total_bytes=device.total_bytes,
            compute_capability=device.compute_capability,
            capacity_bytes=capacity,
        ),
        gpus=wish.setup.gpus,
        memory=wish.memory if device.cuda else MemorySettings(),
        environment=environment(device, wish.memory, capacity, wish.setup.gpus),
        rungs=rungs,
    )


def capacity_bytes(device: Device, memory: MemorySettings, learnt: Calibration | None = None) -> int | None:
    limit = allocator_limit_bytes(device)
    if limit is not None and learnt is not None and learnt.limit_bytes is not None:
        limit = learnt.limit_bytes
    if memory.limit_bytes is None:
        return limit
    return memory.limit_bytes if limit is None else min(limit, memory.limit_bytes)


def _learnt(memories: Mapping[StepSetup, Memory], wish: Wish, device: Device, taught: Taught) -> Calibration | None:
    """Of steps as the first rung has them: compiled, or not."""
    return taught(device, memories[next(_both(wish.setup)).step(device.target)].xla)


def _heeded(memories: Mapping[StepSetup, Memory], wish: Wish, taught: Taught) -> list[Calibration]:
    found = (_learnt(memories, wish, device, taught) for device in wish.devices)
    return [learnt for learnt in found if learnt is not None]


def ladder(
    memories: Mapping[StepSetup, Memory],
    wish: Wish,
    device: Device,
    capacity: int | None,
    source: Source,
    taught: Taught = untaught,
) -> tuple[Rung, ...]:
    """Rungs that fit, each needing less than the one before."""
    rungs: list[Rung] = []
    least: Rung | None = None
    for precision in (wish.setup.precision, *wish.precisions):
        for accumulate in accumulations(wish.setup):
            if sum(rung.precision is precision for rung in rungs) == MOST_RUNGS:
                break
            setup = replace(wish.setup, precision=precision, accumulate=accumulate)
            rung = _rung(memories, setup, device, source, taught)
            if least is None or rung.peak.expected_bytes < least.peak.expected_bytes:
                least = rung
            need = rung.peak.high_bytes if wish.surely and not rungs else rung.peak.expected_bytes
            lower = not rungs or rung.peak.expected_bytes < rungs[-1].peak.expected_bytes * WORTH_IT
            if lower and (capacity is None or need <= capacity):
                rungs.append(rung)
    if not rungs and least is not None and capacity is not None:
        need = least.peak.high_bytes if wish.surely else least.peak.expected_bytes
        raise DoesNotFit(
            f"A batch of {wish.setup.batch} does not fit {device.name}: with {least.per_gpu_batch} at a time in "
            f"{least.precision} a GPU needs {format_bytes(need)}, and TensorFlow gets {format_bytes(capacity)}. "
            "Allow a lower precision, train fewer layers, or take a larger device."
        )
    return tuple(rungs)


def accumulations(setup: Setup) -> list[int]:
    """Numbers of accumulation steps to try: from the setup's own on, about doubling, up to one sample at a time.

    Where a number shares the batch out evenly it is taken: every step then has the same shape, and is compiled once.
    """
    share = -(-setup.batch // setup.gpus)
    found = [setup.accumulate]
    while found[-1] < share:
        last = found[-1]
        even = [
            k for k in range(last + (last + 1) // 2, min(3 * last, share) + 1) if not setup.batch % (setup.gpus * k)
        ]
        following = min(even, key=lambda k: abs(k - 2 * last), default=min(2 * last, share))
        if following * setup.gpus > setup.batch:
            break
        found.append(following)
    return found


def _rung(memories: Mapping[StepSetup, Memory], setup: Setup, device: Device, source: Source, taught: Taught) -> Rung:
    memory = memories[setup.step(device.target)]
    level = level_at(memory.point(setup.per_gpu_batch))
    outside = outside_bytes(device, setup.gpus).expected_bytes
    if (learnt := taught(device, memory.xla)) is not None:
        level = calibrated_level(level, learnt)
        outside = learnt.outside_bytes if learnt.outside_bytes is not None else outside
    return Rung(
        per_gpu_batch=setup.per_gpu_batch,
        accumulate=setup.accumulate,
        precision=setup.precision,
        jit=memory.xla,
        peak=Peak(
            expected_bytes=level.peak_bytes,
            low_bytes=level.low_bytes,
            high_bytes=level.high_bytes,
            device_bytes=level.peak_bytes + outside,
            source=source,
        ),
    )


def environment(device: Device, memory: MemorySettings, capacity: int | None, gpus: int) -> dict[str, str]:
    """What must be set before TensorFlow is imported, for the figures to hold."""
    found = {"KERAS_BACKEND": "tensorflow"}
    if not device.cuda:
        # The CPU device on the allocator of GPUs, one for all replicas. oneDNN's kernels take memory of their own.
        found |= {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_ENABLE_ONEDNN_OPTS": "0"}
        if capacity is not None:
            found["TF_CPU_BFC_MEM_LIMIT_IN_MB"] = str(max(1, capacity * gpus // MIB))
        return found
    found["TF_FORCE_GPU_ALLOW_GROWTH"] = "true" if memory.growth else "false"
    if memory.allocator is Allocator.CUDA_MALLOC_ASYNC:
        found["TF_GPU_ALLOCATOR"] = str(memory.allocator)
    return found


def planned_model(model: CheckedModel, file: str, trace: StepTrace, precision: Precision) -> PlannedModel:
    width = VARIABLE_BYTES.get(precision, 4)
    sizes = [trace.sizes[v.size].at(1) // width for v in trace.variables if v.role is Role.WEIGHT]
    return PlannedModel(
        name=model.name,
        file=file,
        format=model.format,
        sha256=model.sha256,
        parameters=sum(sizes),
        weights=len(sizes),
        fingerprint=fingerprint(sizes),
    )


def _saved_loss(model: CheckedModel) -> str:
    """By name, where the file says it by name; "" where it is more than a name. Without one, what estimates use."""
    saved = (model.compile_config or {}).get("loss")
    if saved is None:
        return "mean_squared_error"
    return saved if isinstance(saved, str) else ""


def _warnings(entries: Sequence[Entry], setup: Setup, trace: StepTrace) -> list[str]:
    said = []
    for entry in entries:
        first = entry.rungs[0]
        if first.accumulate > setup.accumulate or first.precision is not setup.precision:
            said.append(
                f"On {entry.device.name} the batch of {setup.batch} does not fit at once: it is trained "
                f"{first.per_gpu_batch} at a time in {first.accumulate} steps, {first.precision}."
            )
    normalised = [name for name, kind in trace.layers if kind == "BatchNormalization"]
    if normalised and any(rung.accumulate > 1 for entry in entries for rung in entry.rungs):
        said.append(
            f"Batch normalisation ({len(normalised)} layers, the first is {normalised[0]}) works on the samples of one "
            "step: with accumulation these are fewer than the batch."
        )
    return said
