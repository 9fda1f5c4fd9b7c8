"""The GPUs of the machine a script runs on, as the driver sees them before TensorFlow takes any of their memory."""

import os
from typing import TYPE_CHECKING

from planner_app.core.plan.plan import DeviceKind, Entry, Plan, PlannedDevice
from planner_app.errors import PlanError

if TYPE_CHECKING:
    from planner_app.core.hardware.machine import Gpu

VISIBLE = "CUDA_VISIBLE_DEVICES"
WORKER_VARIABLES = ("PLIMSOLL_WORKER", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
SAME_SIZE = 0.98  # drivers report a little more or less of the same card


def visible_gpus() -> "tuple[Gpu, ...]":
    """GPUs that this process may use; none where there is no driver."""
    try:
        from planner_app.gpu.nvml import machine_gpus
    except ImportError:
        return ()
    gpus = machine_gpus().usable_gpus
    wanted = os.environ.get(VISIBLE)
    if wanted is None:
        return gpus
    chosen = []
    for part in (part.strip() for part in wanted.split(",")):
        found = [gpu for gpu in gpus if str(gpu.index) == part or (gpu.uuid or "?").startswith(part or "!")]
        if not found:  # CUDA stops at the first it does not know
            break
        chosen.append(found[0])
    return tuple(chosen)


def pick_entry(plan: Plan, gpus: "tuple[Gpu, ...]", wanted: str | None) -> Entry:
    """The plan's entry for this machine, or the one that was asked for by name."""
    names = ", ".join(entry.device.name for entry in plan.devices)
    if wanted is not None:
        for entry in plan.devices:
            if entry.device.name.casefold() == wanted.strip().casefold():
                return entry
        raise PlanError(f"The plan has no entry for {wanted!r}: it has {names}.")
    if len(plan.devices) == 1:
        return plan.devices[0]
    for gpu in gpus[:1]:
        for entry in plan.devices:
            if is_same(entry.device, gpu):
                return entry
        raise PlanError(
            f"This machine has {gpu.name or 'a GPU without a name'}, and the plan is for {names}: make one."
        )
    for entry in plan.devices:
        if entry.device.kind is DeviceKind.CPU:
            return entry
    raise PlanError(
        f"This machine shows no GPU, and the plan is for {names}: name one with load_plan(..., device=...)."
    )


def is_same(device: PlannedDevice, gpu: "Gpu") -> bool:
    """By name; a device that is only a size is any GPU that has it."""
    if device.kind is not DeviceKind.GPU:
        return False
    if gpu.name and _plain(gpu.name) == _plain(device.name):
        return True
    only_size = device.name[:1].isdigit()
    return only_size and bool(gpu.total_bytes) and (gpu.total_bytes or 0) >= (device.total_bytes or 0) * SAME_SIZE


def _plain(name: str) -> str:
    return name.casefold().removeprefix("nvidia ").strip()


def this_worker() -> int | None:
    """Which of several hosts this is, where Slurm, MPI or the user say so."""
    return next((int(os.environ[name]) for name in WORKER_VARIABLES if os.environ.get(name, "").isdigit()), None)
