"""What NVML, the library of NVIDIA's driver, reports about this machine's GPUs. Problems become a state and a sentence.

    machine = machine_gpus()
    machine.driver, machine.sentence      # Driver.MISSING, "This machine has no NVIDIA driver: ..."
    machine.gpus[0].free_bytes            # None if the driver does not report it

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
        "This machine has no NVIDIA driver: estimate for a GPU of the list, measure on the CPU, or measure on a "
        "machine with a GPU.",
    ),
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: (
        Driver.NOT_LOADED,
        "The NVIDIA driver is installed but not loaded: load it (modprobe nvidia) or restart the machine.",
    ),
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: (
        Driver.MISMATCH,
        "The NVIDIA driver was updated but the old one is still running: restart the machine.",
    ),
    pynvml.NVML_ERROR_NO_PERMISSION: (
        Driver.NO_PERMISSION,
        "You don't have permission to use the NVIDIA driver: ask for access to /dev/nvidiactl and /dev/nvidia0.",
    ),
}
_GPU = {
    pynvml.NVML_ERROR_GPU_IS_LOST: (
        Health.LOST,
        "GPU {index} has fallen off the bus: save your work, then restart the machine; if it happens again, check "
        "its power and cooling.",
    ),
    pynvml.NVML_ERROR_RESET_REQUIRED: (
        Health.NEEDS_RESET,
        "GPU {index} must be reset before it can be used: nvidia-smi --gpu-reset -i {index}, or restart the machine.",
    ),
    pynvml.NVML_ERROR_NO_PERMISSION: (
        Health.NO_PERMISSION,
        "You don't have permission to use GPU {index}: ask for access to /dev/nvidia{index}.",
    ),
}
NO_GPU = "The NVIDIA driver is running, but finds no GPU."
# The driver does not know this about the card, or in this release; any other error is a problem.
_UNKNOWN = (
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_NOT_FOUND,
    pynvml.NVML_ERROR_INVALID_ARGUMENT,
    pynvml.NVML_ERROR_NO_DATA,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
)


def machine_gpus() -> Machine:
    """The machine's current state. Takes milliseconds; never raises, whatever the driver does."""
    try:
        with _library():
            return _machine()
    except pynvml.NVMLError as error:
        return _without(error)


@contextmanager
def _library() -> Iterator[None]:
    """Opened again for each query, so that a repaired driver or a returned GPU is noticed."""
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
        error.value,
        (Driver.BROKEN, f"The NVIDIA driver does not answer ({_message(error)}): run nvidia-smi for details."),
    )
    return Machine(driver=driver, sentence=sentence)


def _gpu(index: int) -> Gpu:
    """As much as the driver reports before it stops answering."""
    gpu = Gpu(index)
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        for look in (_name, _identity, _memory, _modes, _slices, _use):
            gpu = look(gpu, handle)
    except pynvml.NVMLError as error:
        health, sentence = _GPU.get(
            error.value,
            (Health.BROKEN, "GPU {index} does not answer (" + _message(error) + "): run nvidia-smi for details."),
        )
        return replace(gpu, health=health, sentence=sentence.format(index=index))
    return gpu


def _name(gpu: Gpu, handle: Any) -> Gpu:
    """Asked first and separately, so that at least the name of a failing GPU is known."""
    return replace(gpu, name=_text(_known(pynvml.nvmlDeviceGetName, handle)))


def _identity(gpu: Gpu, handle: Any) -> Gpu:
    return replace(
        gpu,
        uuid=_text(_known(pynvml.nvmlDeviceGetUUID, handle)),
        bus=_text(getattr(_known(pynvml.nvmlDeviceGetPciInfo, handle), "busId", None)),
        compute_capability=_known(pynvml.nvmlDeviceGetCudaComputeCapability, handle),
    )


def _memory(gpu: Gpu, handle: Any) -> Gpu:
    """Version 2 of the call separates the driver's own memory from used memory; older drivers lack it."""
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
        if part is None:  # an unused slot
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
    """The process may have ended or belong to another user; the GPU is still described."""
    with suppress(pynvml.NVMLError):
        return pynvml.nvmlSystemGetProcessName(process)
    return None


def _known(ask: Callable[..., T], *arguments: Any) -> T | None:
    """The answer, or None if the driver has none for this GPU."""
    try:
        return ask(*arguments)
    except UnicodeDecodeError:
        return None
    except pynvml.NVMLError as error:
        if error.value in _UNKNOWN:
            return None
        raise


def _on(mode: list[int] | None) -> bool | None:
    """Modes come in pairs: the current one and the one after a restart."""
    return None if mode is None else bool(mode[0])


def _text(value: Any) -> str | None:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return str(text).strip() or None if text is not None else None


def _cuda(number: int | None) -> str | None:
    """12080 is 12.8."""
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"


def _message(error: Any) -> str:
    return str(error).strip() or f"error {error.value}"
