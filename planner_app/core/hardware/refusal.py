"""Why a training does not fit a number of GPUs, as a value and as a sentence."""

from dataclasses import dataclass
from enum import IntEnum

from planner_app.core.hardware.device import Device
from planner_app.units import format_bytes


class Why(IntEnum):
    """Smaller is nearer to fitting."""

    MEMORY = 1
    NO_BFLOAT16 = 2
    TOO_MANY = 3
    MEMORY_UNKNOWN = 4
    NO_KERNELS = 5
    NO_WHEEL = 6


@dataclass(frozen=True, slots=True)
class Refusal:
    """Attributes:
    need_bytes: What each GPU would have to hold, and `limit_bytes` what TensorFlow gets of it.
    per_gpu_batch: Samples on each GPU at a time, in `accumulate` steps.
    """

    device: Device
    gpus: int
    why: Why
    need_bytes: int = 0
    limit_bytes: int = 0
    per_gpu_batch: int = 0
    precision: str = ""
    accumulate: int = 1
    batch: int = 0

    @property
    def badness(self) -> tuple[int, int]:
        """Smaller is nearer to fitting."""
        return self.why, self.need_bytes

    @property
    def shortfall(self) -> float:
        """How many times the memory it would need."""
        return self.need_bytes / self.limit_bytes if self.limit_bytes else 0.0

    @property
    def sentence(self) -> str:
        name = short_name(self.device)
        capability = ".".join(map(str, self.device.compute_capability or ()))
        if self.why is Why.MEMORY:
            number = "" if self.gpus == 1 else f" with {self.gpus} of them"
            need, limit = format_bytes(self.need_bytes), format_bytes(self.limit_bytes)
            each = f"{self.per_gpu_batch:,} each" + (f" in {self.accumulate} steps" if self.accumulate > 1 else "")
            return f"needs {need} per GPU{number} ({self.precision}, {each}), {name} gives {limit}"
        if self.why is Why.NO_BFLOAT16:
            return f"{name} has no bfloat16 (compute capability {capability}, it needs 8.0): allow mixed_float16"
        if self.why is Why.TOO_MANY:
            return f"a batch of {self.batch} can't feed {self.gpus} GPUs"
        if self.why is Why.MEMORY_UNKNOWN:
            return f"the memory that {name} reports is unknown"
        if self.why is Why.NO_WHEEL:
            return f"TensorFlow's own wheels have no kernels for GPUs of {self.device.vendor}"
        return f"TensorFlow 2.21 has no kernels for compute capability {capability}: they start at 6.0"


def short_name(device: Device) -> str:
    return device.name.removeprefix("NVIDIA ").removeprefix("GeForce ").removeprefix("Tesla ")
