"""What real training steps took: in one process or several, on GPUs or on the CPU through the GPUs' allocator.

Measurement            one point: a model, a setup, a place
  Run                  one process
    Step               one call of the training step
      StepMemory       one device: in use before, at the peak and after
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from planner_app.core.model.setup import Setup
from planner_app.core.replay.timeline import Timeline
from planner_app.errors import SetupError

_GPUS = re.compile(r"gpu(?::(\d+(?:,\d+)*))?", re.IGNORECASE | re.ASCII)


class Order(StrEnum):
    """The order in which kernels run: as TensorFlow's thread pool decides, or one by one, as on a GPU."""

    ORDINARY = "ordinary"
    INLINE = "inline"


@dataclass(frozen=True, slots=True)
class Place:
    """Where steps are run.

    Attributes:
        gpus: Numbers of the GPUs; none means the CPU.
        limit_bytes: What the allocator may take; None for all there is.
    """

    gpus: tuple[int, ...] = ()
    limit_bytes: int | None = None

    @property
    def on_gpu(self) -> bool:
        return bool(self.gpus)

    def __str__(self) -> str:
        return f"gpu:{','.join(map(str, self.gpus))}" if self.gpus else "cpu"


def parse_place(text: str, limit_bytes: int | None = None) -> Place:
    """`cpu`, `gpu` (the first), or `gpu:0,1`."""
    given = text.strip().replace(" ", "")
    if given.lower() == "cpu":
        return Place((), limit_bytes)
    found = _GPUS.fullmatch(given)
    if found is None:
        raise SetupError(f'"{text}" is not a place to measure on: expected cpu, gpu:0, or several as in gpu:0,1.')
    numbers = tuple(int(number) for number in (found[1] or "0").split(","))
    if len(set(numbers)) != len(numbers):
        raise SetupError(f'"{text}" names a GPU twice.')
    return Place(numbers, limit_bytes)


def backend_text(tensorflow: str, jax: str) -> str:
    return f"JAX {jax}" if jax else f"TensorFlow {tensorflow}"


@dataclass(frozen=True, slots=True)
class Versions:
    """Of one measurement. On JAX there is no version of TensorFlow."""

    plimsoll: str
    tensorflow: str
    keras: str
    python: str
    driver: str | None = None
    jax: str = ""

    @property
    def backend(self) -> str:
        """What trained, with its version: "TensorFlow 2.21.0"."""
        return backend_text(self.tensorflow, self.jax)


@dataclass(frozen=True, slots=True)
class StepMemory:
    """The allocator's books of one device: bytes in use before a step, at its peak, and after it."""

    device: str
    before_bytes: int
    peak_bytes: int
    after_bytes: int


@dataclass(frozen=True, slots=True)
class GpuUse:
    """What NVML reports for one GPU after a step; None if it does not.

    Attributes:
        used_bytes: By all processes.
        process_bytes: By the measured process.
        energy_joules: Consumed by the GPU in the step.
    """

    device: str
    used_bytes: int | None = None
    process_bytes: int | None = None
    energy_joules: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One training step, or one call of `fit`. `host_bytes` is the process's host memory."""

    number: int
    seconds: float
    memory: tuple[StepMemory, ...]
    host_bytes: int | None = None
    gpus: tuple[GpuUse, ...] = ()


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """What ran out of memory.

    Attributes:
        during: "building the model", "step 1".
        operation: Which operation requested the memory; "" if TensorFlow does not say.
        layer: The operation's layer; "" if it has none.
        shape: Of the tensor, as TensorFlow writes it.
        requested_bytes: If TensorFlow says so.
    """

    during: str
    operation: str = ""
    layer: str = ""
    shape: str = ""
    dtype: str = ""
    requested_bytes: int | None = None
    device: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Growth:
    """Memory allocated in a step and not freed: how many times, and the total bytes."""

    operation: str
    layer: str
    shape: str
    count: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class Run:
    """One process.

    Attributes:
        steps: The first one traces the step and tries out kernels; steady ones start from the third, or the second.
        live_bytes: The most bytes requested at one moment of a steady step, without scratch. Known only if every
            allocation was watched: with kernels one by one.
        temp_bytes: Scratch at the moment of the peak; likewise.
        state_bytes: Requested bytes that stay between steps; likewise.
        limit_bytes: What the allocator may take, as it reports.
        xla: The step was compiled by XLA.
        kept_bytes: The least bytes that any of the last steps requested and did not free, without allocator overhead,
            which varies. Known if leaks were looked for.
        notes: What could not be determined, and why.
        ended: Why the process ended early; "" if it did not.
        tensorflow: Its version, as the process reports; `jax` on JAX.
    """

    steps: tuple[Step, ...] = ()
    oom: OutOfMemory | None = None
    live_bytes: int | None = None
    live_operation: str = ""
    temp_bytes: int | None = None
    state_bytes: int | None = None
    limit_bytes: int | None = None
    xla: bool = False
    timeline: Timeline | None = None
    kept_bytes: int | None = None
    grown: tuple[Growth, ...] = ()
    notes: tuple[str, ...] = ()
    ended: str = ""
    tensorflow: str = ""
    keras: str = ""
    jax: str = ""

    @property
    def steady(self) -> tuple[Step, ...]:
        """All but the first, which also includes tracing and trying out kernels."""
        return self.steps[1:] or self.steps

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(memory.device for step in self.steps for memory in step.memory))

    def peak_bytes(self, device: str) -> int | None:
        peaks = [memory.peak_bytes for step in self.steady for memory in step.memory if memory.device == device]
        return max(peaks, default=None)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One point of the chart, measured.

    Attributes:
        hardware: What it ran on, by name.
        model_sha256: Of the model's file.
        measured_at: "2026-11-16T04:37:00Z".
        fits: How many calls of `fit` each run made instead of single steps; 0 for single steps.
        ended: Why it ended early; "" if it did not.
        host: The machine of a fleet that it ran on; "" for this one.
        one_region: On the CPU, whose allocator took its whole limit at once, as a GPU's does.
    """

    versions: Versions
    hardware: str
    place: Place
    order: Order
    model: str
    model_sha256: str
    setup: Setup
    measured_at: str
    runs: tuple[Run, ...]
    fits: int = 0
    ended: str = ""
    host: str = ""
    one_region: bool = False

    @property
    def devices(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(device for run in self.runs for device in run.devices))

    @property
    def oom(self) -> OutOfMemory | None:
        """From the first process that ran out of memory."""
        return next((run.oom for run in self.runs if run.oom is not None), None)

    @property
    def peaks(self) -> dict[str, tuple[int, ...]]:
        """By device, the steady peak of every process that got that far."""
        found = {
            device: tuple(peak for run in self.runs if (peak := run.peak_bytes(device)) is not None)
            for device in self.devices
        }
        return {device: peaks for device, peaks in found.items() if peaks}

    def step_peaks(self, device: str) -> tuple[int, ...]:
        """Of every steady step of every process."""
        return tuple(memory.peak_bytes for step in self.steady for memory in step.memory if memory.device == device)

    @property
    def peak_bytes(self) -> int | None:
        """The most that any device had in use in any process."""
        return max((max(peaks) for peaks in self.peaks.values()), default=None)

    @property
    def typical_bytes(self) -> int | None:
        """The median peak over processes, of the device that needs most."""
        return max((int(median(peaks)) for peaks in self.peaks.values()), default=None)

    @property
    def steady(self) -> tuple[Step, ...]:
        return tuple(step for run in self.runs for step in run.steady)

    @property
    def seconds_per_step(self) -> float | None:
        seconds = [step.seconds for step in self.steady] if any(len(run.steps) > 1 for run in self.runs) else []
        return median(seconds) if seconds else None

    @property
    def samples_per_second(self) -> float | None:
        seconds = self.seconds_per_step
        return self.setup.per_gpu_batch * self.setup.replicas / seconds if seconds and not self.fits else None

    @property
    def joules_per_sample(self) -> float | None:
        """Of all GPUs together; None if one of them does not report it."""
        spent = [_joules(step) for step in self.steady]
        known = [joules for joules in spent if joules is not None]
        if not known or len(known) < len(spent) or self.fits:
            return None
        return median(known) / (self.setup.per_gpu_batch * self.setup.replicas)


def _joules(step: Step) -> float | None:
    told = [gpu.energy_joules for gpu in step.gpus]
    known = [joules for joules in told if joules is not None]
    return sum(known) if known and len(known) == len(told) else None


def after_each(steps: Sequence[Step], device: str) -> list[int]:
    """Bytes in use on a device after each step: what a leak makes grow."""
    return [memory.after_bytes for step in steps for memory in step.memory if memory.device == device]
