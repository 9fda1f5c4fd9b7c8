"""The GPUs of this machine as their driver describes them. What the driver does not report is `None`, never 0."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from planner_app.core.hardware.device import Basis, Device, Provenance, Segment
from planner_app.errors import DeviceError


class Driver(StrEnum):
    """The state of the machine's driver."""

    FINE = "fine"
    MISSING = "missing"
    NOT_LOADED = "not loaded"
    MISMATCH = "mismatch"
    NO_PERMISSION = "no permission"
    BROKEN = "broken"


class Health(StrEnum):
    """The state of one GPU."""

    FINE = "fine"
    LOST = "lost"
    NEEDS_RESET = "needs reset"
    NO_PERMISSION = "no permission"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """A process that computes on a GPU. In a container its number may be one of the host's."""

    process: int
    used_bytes: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU, or one slice of a GPU that is split (MIG).

    Attributes:
        index: The driver's number, by position on the bus; of a slice, its number on its GPU.
        sentence: What is wrong and what to do; empty if nothing is.
        reserved_bytes: Kept by driver and firmware: part of the total, but not usable.
        ecc: Error correction is on.
        mig: The GPU is split: programs see its slices, not the GPU.
        processes: Those that compute on it; None if the driver does not report them.
        energy_joules: Consumed since the driver was loaded.
    """

    index: int
    health: Health = Health.FINE
    sentence: str = ""
    name: str | None = None
    uuid: str | None = None
    bus: str | None = None
    compute_capability: tuple[int, int] | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    used_bytes: int | None = None
    reserved_bytes: int | None = None
    ecc: bool | None = None
    mig: bool | None = None
    slices: tuple["Gpu", ...] = ()
    processes: tuple[GpuProcess, ...] | None = None
    power_watts: float | None = None
    energy_joules: float | None = None

    @property
    def usable(self) -> bool:
        return self.health is Health.FINE

    def bytes_of(self, process: int) -> int | None:
        """What one process has on it; None if the driver does not report it."""
        return next((each.used_bytes for each in self.processes or () if each.process == process), None)


@dataclass(frozen=True, slots=True)
class Machine:
    """Attributes:
    sentence: What is wrong and what to do, or that there is no GPU; empty if all is well.
    driver_version: As in "570.86.15".
    cuda_version: The newest CUDA that the driver supports, as in "12.8".
    """

    driver: Driver
    sentence: str = ""
    driver_version: str | None = None
    cuda_version: str | None = None
    gpus: tuple[Gpu, ...] = ()

    @property
    def usable_gpus(self) -> tuple[Gpu, ...]:
        return tuple(gpu for gpu in self.gpus if gpu.usable)


def as_reported(devices: Iterable[Device], gpus: Iterable[Gpu], find: Callable[[str], Device]) -> tuple[Device, ...]:
    """The same devices, those of this machine with the figures of its driver: they beat the catalogue's."""
    own: dict[str, Device] = {}
    for gpu in gpus:
        if gpu.usable and gpu.name and not gpu.mig:
            with suppress(DeviceError):
                known = find(gpu.name)
                own.setdefault(known.name, device_of(gpu, known))
    return tuple(own.get(device.name, device) for device in devices)


def device_of(gpu: Gpu, known: Device | None = None) -> Device:
    """The GPU as a device to estimate for: the driver's figures, completed from the catalogue's entry."""
    said = Provenance("NVML on this machine", Basis.QUOTED)
    facts = {
        "total_bytes": gpu.total_bytes,
        "compute_capability": gpu.compute_capability,
        "ecc": gpu.ecc,
    }
    told = {name: value for name, value in facts.items() if value is not None}
    base = known or Device(name=gpu.name or f"GPU {gpu.index}", segment=Segment.CUSTOM)
    provenance = MappingProxyType({**base.provenance, **dict.fromkeys(told, said)})
    return replace(base, **told, provenance=provenance)  # type: ignore[arg-type]
