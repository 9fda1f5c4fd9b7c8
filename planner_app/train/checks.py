"""Whether a plan can be kept here and now: the same model, a device of that kind, enough of it free."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from planner_app.core.hardware.machine import Gpu
from planner_app.core.model.setup import OWN
from planner_app.core.plan.pipeline import host_warning
from planner_app.core.plan.plan import DeviceKind, Rung, fingerprint
from planner_app.errors import PlanError
from planner_app.files.host import available_bytes
from planner_app.train.machine import is_same
from planner_app.train.notes import note
from planner_app.units import format_bytes

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan


def check(plan: "TrainingPlan", model: Any) -> None:
    """Notes are warnings; what can't work is one error with all of it."""
    wrong = [*_device(plan), *(_model(plan, model) if model is not None else ())]
    for sentence in _notes(plan, model):
        note(sentence)
    if wrong:
        raise PlanError(" ".join(wrong))


def _device(plan: "TrainingPlan") -> Iterator[str]:
    rung = plan.current
    if plan.entry.device.kind is DeviceKind.CPU:
        free = available_bytes()
        need = rung.peak.expected_bytes * plan.entry.gpus
        if free is not None and need > free:
            yield f"The plan needs {format_bytes(need)} of memory, and this machine has {format_bytes(free)} free."
        return
    local = plan.entry.gpus // plan.hosts
    if not plan.gpus:
        yield (
            f"The plan is for {plan.entry.device.name}, and this machine shows no GPU: look at nvidia-smi and "
            "CUDA_VISIBLE_DEVICES, or load a plan for the CPU."
        )
    for gpu in plan.gpus[:local]:
        if gpu.free_bytes is None or rung.peak.device_bytes <= gpu.free_bytes:
            continue
        yield (
            f"GPU {gpu.index} ({gpu.name}) has {format_bytes(gpu.free_bytes)} free, and the plan needs "
            f"{format_bytes(rung.peak.device_bytes)}{_holders(gpu)}.{_lower(plan, gpu.free_bytes)}"
        )
    if plan.gpus and len(plan.gpus) < local:
        yield f"The plan needs {local} GPUs on this machine, and it shows {len(plan.gpus)}."


def _holders(gpu: Gpu) -> str:
    names = [f"{each.name or 'process'} {each.process}" for each in gpu.processes or ()]
    return f"; {', '.join(names[:3])} {'hold' if len(names) > 1 else 'holds'} some of it" if names else ""


def _lower(plan: "TrainingPlan", free_bytes: int) -> str:
    for number, rung in enumerate(plan.entry.rungs[plan.rung + 1 :], plan.rung + 1):
        if rung.peak.device_bytes <= free_bytes:
            return f" Rung {number} would fit ({_said(rung)}): load_plan(..., rung={number})."
    return " End what else runs there, or take another GPU."


def _said(rung: Rung) -> str:
    return f"{rung.per_gpu_batch} samples at a time, {rung.precision}, {format_bytes(rung.peak.expected_bytes)}"


def _model(plan: "TrainingPlan", model: Any) -> Iterator[str]:
    """By the sizes of what is trained. Weights that no layer has made yet can't be compared."""
    if not model.built:
        return
    sizes = [_elements(weight) for weight in model.trainable_variables]
    planned = plan.plan.model
    if fingerprint(sizes) == planned.fingerprint:
        return
    if sum(sizes) == planned.parameters and len(sizes) == planned.weights:
        yield f"This is not the model of the plan ({planned.file}): its weights have other shapes."
    else:
        yield (
            f"This is not the model of the plan: {planned.file} trains {planned.parameters} parameters "
            f"in {planned.weights} arrays, this one {sum(sizes)} in {len(sizes)}. Freeze the same layers "
            "(plan.freeze), or make a new plan."
        )


def _elements(weight: Any) -> int:
    count = 1
    for size in weight.shape:
        count *= int(size)
    return count


def _notes(plan: "TrainingPlan", model: Any) -> Iterator[str]:
    free = available_bytes()
    said = host_warning(plan.plan.input, free) if free is not None else ""
    if said:
        yield said
    for gpu in plan.gpus[:1]:
        if plan.entry.device.kind is DeviceKind.GPU and not is_same(plan.entry.device, gpu):
            yield f"The plan was made for {plan.entry.device.name}, and this machine has {gpu.name}."
    yield from _versions(plan)
    if model is None:
        return
    from planner_app.train.policies import optimizer_name

    optimizer = getattr(model, "optimizer", None)
    planned = plan.plan.training.optimizer.name
    if optimizer is not None and planned not in (OWN.name, optimizer_name(optimizer)):
        yield (
            f"The plan was made for {plan.plan.training.optimizer.name}, and the model is compiled with "
            f"{optimizer_name(optimizer)}: its memory may be another."
        )
    if optimizer is not None and bool(model.jit_compile) != plan.current.jit:
        yield (
            f"The plan was made {'with' if plan.current.jit else 'without'} XLA: compile the model with "
            "**plan.compile_options()."
        )
    policies = {layer.dtype_policy.name for layer in getattr(model, "layers", ())}
    if policies and plan.precision not in policies:
        yield (
            f"The plan was made for {plan.precision}, and the model's layers are {', '.join(sorted(policies))}: build "
            "it inside `with plan.scope():`."
        )


def _versions(plan: "TrainingPlan") -> Iterator[str]:
    """TensorFlow and Keras decide how much memory a step takes."""
    import keras

    present = {"keras": keras.__version__}
    if plan.entry.sharding is None:
        import tensorflow as tf

        present["tensorflow"] = tf.__version__
    for name in present:
        planned = plan.current.peak.source.versions.get(name)
        if planned and planned != present[name]:
            yield f"The plan's figures are for {name} {planned}, and this is {present[name]}."
