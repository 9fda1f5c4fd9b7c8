"""What NVML, the library of NVIDIA's driver, says of this machine's GPUs. Trouble is a state with a sentence.

    machine = machine_gpus()
    machine.driver, machine.sentence      # Driver.MISSING, "This machine has no NVIDIA driver: ..."
    machine.gpus[0].free_bytes            # None where the driver does not say

The only module that imports pynvml. A GPU may fall off the bus at any moment: the others are still described.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import pynvml

from planner_app.core.hardware.machine import Driver, Gpu, GpuProcess, Health, Machine

T = TypeVar("T")

_DRIVER = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: (
        Driver.MISSING,
        "This machine has no NVIDIA driver: estimate for a GPU of the list, measure on the CPU, or measure on the "
        "machine that has the GPU.",
    ),
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: (
        Driver.NOT_LOADED,
        "The NVIDIA driver is installed but not loaded: load it (modprobe nvidia) or restart the machine.",
    ),
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
        Driver.MISMATCH,
        "The NVIDIA driver was updated while the old one runs: restart the machine.",
    ),
    pynvml.NVML_ERROR_NO_PERMISSION: (
        Driver.NO_PERMISSION,
        "You may not use the NVIDIA driver: ask for access to /dev/nvidiactl and /dev/nvidia0.",
    ),
}
_GPU = {
    pynvml.NVML_ERROR_GPU_IS_LOST: (
        Health.LOST,
        "GPU {index} has fallen off the bus: save your work, then restart the machine; if it happens again, look at "
        "its power and cooling.",
    ),
    pynvml.NVML_ERROR_RESET_REQUIRED: (
        Health.NEEDS_RESET,
        "GPU {index} must be reset before it can be used: nvidia-smi --gpu-reset -i {index}, or restart the machine.",
    ),
    pynvml.NVML_ERROR_NO_PERMISSION: (
        Health.NO_PERMISSION,
        "You may not use GPU {index}: ask for access to /dev/nvidia{index}.",
    ),
}
NO_GPU = "The NVIDIA driver runs, but finds no GPU."
# The driver answered "I don't know" for this card or this release; anything else is trouble.
_UNKNOWN = (
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_NOT_FOUND,
    pynvml.NVML_ERROR_INVALID_ARGUMENT,
    pynvml.NVML_ERROR_NO_DATA,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
)


def machine_gpus() -> Machine:
    """The machine as it is now. Takes milliseconds; never raises for anything the driver does."""
    try:
        with _library():
            return _machine()
    except pynvml.NVMLError as error:
        return _without(error)


@contextmanager
def _library() -> Iterator[None]:
    """Opened for each look: a driver that was mended or a GPU that came back is seen the next time."""
    pynvml.nvmlInit()
    try:
        yield
    finally:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _machine() -> Machine:
    count = pynvml.nvmlDeviceGetCount()
    return Machine(
        driver=Driver.FINE,
        sentence="" if count else NO_GPU,
        driver_version=_text(_known(pynvml.nvmlSystemGetDriverVersion)),
        cuda_version=_cuda(_known(pynvml.nvmlSystemGetCudaDriverVersion_v2)),
        gpus=tuple(_gpu(index) for index in range(count)),
    )


def _without(error: Any) -> Machine:
    driver, sentence = _DRIVER.get(
        error.value, (Driver.BROKEN, f"The NVIDIA driver does not answer ({_said(error)}): see what nvidia-smi says.")
    )
    return Machine(driver=driver, sentence=sentence)


def _gpu(index: int) -> Gpu:
    """As much as can be told. Where the driver stops answering, what it said before counts."""
    gpu = Gpu(index)
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        for look in (_name, _identity, _memory, _modes, _slices, _use):
            gpu = look(gpu, handle)
    except pynvml.NVMLError as error:
        health, sentence = _GPU.get(
            error.value,
            (Health.BROKEN, "GPU {index} does not answer (" + _said(error) + "): see what nvidia-smi says."),
        )
        return replace(gpu, health=health, sentence=sentence.format(index=index))
    return gpu


def _name(gpu: Gpu, handle: Any) -> Gpu:
    """By itself and first: of a GPU that is lost a moment later, at least that is known."""
    return replace(gpu, name=_text(_known(pynvml.nvmlDeviceGetName, handle)))


def _identity(gpu: Gpu, handle: Any) -> Gpu:
    return replace(
        gpu,
        uuid=_text(_known(pynvml.nvmlDeviceGetUUID, handle)),
        bus=_text(getattr(_known(pynvml.nvmlDeviceGetPciInfo, handle), "busId", None)),
        compute_capability=_known(pynvml.nvmlDeviceGetCudaComputeCapability, handle),
    )


def _memory(gpu: Gpu, handle: Any) -> Gpu:
    """The second form tells what the driver keeps apart from what is used; older drivers have the first alone."""
    told = _known(partial(pynvml.nvmlDeviceGetMemoryInfo, version=pynvml.nvmlMemory_v2), handle)
    reserved = None if told is None else int(told.reserved)
    told = told or _known(pynvml.nvmlDeviceGetMemoryInfo, handle)
    if told is None:
        return gpu
    return replace(
        gpu,
        total_bytes=int(told.total),
        free_bytes=int(told.free),
        used_bytes=int(told.used),
        reserved_bytes=reserved,
    )


def _modes(gpu: Gpu, handle: Any) -> Gpu:
    return replace(
        gpu,
        ecc=_on(_known(pynvml.nvmlDeviceGetEccMode, handle)),
        mig=_on(_known(pynvml.nvmlDeviceGetMigMode, handle)),
    )


def _slices(gpu: Gpu, handle: Any) -> Gpu:
    if not gpu.mig:
        return gpu
    found = []
    for number in range(_known(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        part = _known(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, number)
        if part is None:  # a place that no slice has
            continue
        made = _memory(_identity(_name(Gpu(number), part), part), part)
        found.append(
            replace(
                made,
                bus=made.bus or gpu.bus,
                compute_capability=made.compute_capability or gpu.compute_capability,
                ecc=gpu.ecc,
                processes=_processes(part),
            )
        )
    return replace(gpu, slices=tuple(found))


def _use(gpu: Gpu, handle: Any) -> Gpu:
    milliwatts = _known(pynvml.nvmlDeviceGetPowerUsage, handle)
    millijoules = _known(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle)
    return replace(
        gpu,
        processes=_processes(handle),
        power_watts=None if milliwatts is None else milliwatts / 1000,
        energy_joules=None if millijoules is None else millijoules / 1000,
    )


def _processes(handle: Any) -> tuple[GpuProcess, ...] | None:
    told = _known(pynvml.nvmlDeviceGetComputeRunningProcesses, handle)
    if told is None:
        return None
    return tuple(
        GpuProcess(
            int(each.pid),
            None if each.usedGpuMemory is None else int(each.usedGpuMemory),
            _text(_process_name(int(each.pid))),
        )
        for each in told
    )


def _process_name(process: int) -> Any:
    """It may be over by now, or be somebody else's: no reason to give up on the GPU."""
    with suppress(pynvml.NVMLError):
        return pynvml.nvmlSystemGetProcessName(process)
    return None


def _known(ask: Callable[..., T], *arguments: Any) -> T | None:
    """The answer, or None where the driver has none for this GPU."""
    try:
        return ask(*arguments)
    except UnicodeDecodeError:
        return None
    except pynvml.NVMLError as error:
        if error.value in _UNKNOWN:
            return None
        raise


def _on(mode: list[int] | None) -> bool | None:
    """Modes come in pairs: now, and after a restart."""
    return None if mode is None else bool(mode[0])


def _text(told: Any) -> str | None:
    text = told.decode("utf-8", "replace") if isinstance(told, bytes) else told
    return str(text).strip() or None if text is not None else None


def _cuda(number: int | None) -> str | None:
    """12080 is 12.8."""
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"


def _said(error: Any) -> str:
    return str(error).strip() or f"error {error.value}"
