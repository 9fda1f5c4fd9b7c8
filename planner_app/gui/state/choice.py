"""What the user has chosen: the current setup, the lines around it, and the devices it is compared with."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypedDict, Unpack

from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Backend, Jit, Optimizer, Precision, Setup, StepSetup
from planner_app.core.sharding.layout import Layout
from planner_app.core.sharding.mesh import Mesh

PRECISIONS = (Precision.FLOAT32, Precision.MIXED_FLOAT16)
GPU_COUNTS = (1, 2, 4)
BATCH = 32


class SetupChanges(TypedDict, total=False):
    """The fields of `Setup` to change."""

    batch: int
    precision: Precision
    gpus: int
    accumulate: int
    optimizer: Optimizer
    jit: Jit
    freeze: tuple[str, ...]
    remat: str
    sizes: tuple[tuple[str, tuple[int, ...]], ...]
    loss: str
    lora: str
    quantize: str
    mesh: Mesh
    layout: Layout


@dataclass(frozen=True, slots=True)
class Choice:
    """Everything that undo restores.

    Attributes:
        setup: The current one: a point on one of the lines.
        device: What setups run on; its allocator's limit decides what fits.
        devices: Whose capacity is drawn; `device` is one of them.
        precisions: One colour each.
        gpu_counts: One line style each.
    """

    setup: Setup
    device: Device
    devices: tuple[Device, ...]
    precisions: tuple[Precision, ...] = PRECISIONS
    gpu_counts: tuple[int, ...] = GPU_COUNTS

    def __post_init__(self) -> None:
        """The current setup is always on the chart."""
        _set = object.__setattr__
        if self.setup.precision not in self.precisions:
            _set(self, "precisions", _in_order((*self.precisions, self.setup.precision)))
        if self.setup.gpus not in self.gpu_counts:
            _set(self, "gpu_counts", tuple(sorted((*self.gpu_counts, self.setup.gpus))))
        if self.device not in self.devices:
            _set(self, "devices", (*self.devices, self.device))

    def line(self, precision: Precision, gpus: int) -> Setup:
        """The chosen setup with another precision and GPU count, at its smallest batch."""
        return _line(self.setup, precision, gpus)

    def lines(self) -> tuple[Setup, ...]:
        return _lines(self.setup.least(), *self._shown())

    def steps(self) -> tuple[StepSetup, ...]:
        """The traces that the chart needs, the chosen line's first."""
        return _steps(self.setup.least(), self.device.target, *self._shown())

    def _shown(self) -> tuple[tuple[Precision, ...], tuple[int, ...]]:
        return self.precisions, self.gpu_counts

    def with_setup(self, **changes: Unpack[SetupChanges]) -> "Choice":
        """Another setup. A batch too small for its GPUs and accumulation steps grows with them; on JAX it is rounded
        up to equal shares."""
        setup = self.setup
        batch = changes.pop("batch", setup.batch)
        if "accumulate" in changes:
            setup = replace(setup, accumulate=changes["accumulate"], batch=setup.replicas * changes["accumulate"])
        if "mesh" in changes or "layout" in changes:
            setup = setup.on_mesh(changes.pop("mesh", setup.mesh), changes.pop("layout", setup.layout))
        if "gpus" in changes:
            setup = setup.on_gpus(changes.pop("gpus"))
        setup = replace(setup.least(), **changes)
        batch = max(batch, setup.shares)
        if setup.backend is Backend.JAX:
            batch += -batch % setup.shares
        return replace(self, setup=setup.with_batch(batch))

    def on_backend(self, backend: Backend) -> "Choice":
        """The same setup on another backend: XLA and the GPUs' arrangement as they are there by default."""
        setup = self.setup
        if backend is setup.backend:
            return self
        if backend is Backend.JAX:
            return replace(self, setup=setup.on_mesh(Mesh(setup.gpus), Layout())).with_setup(batch=setup.batch)
        alone = replace(setup, backend=backend, mesh=Mesh(), layout=Layout(), batch=setup.gpus * setup.accumulate)
        return replace(self, setup=alone).with_setup(batch=setup.batch)

    def as_run_on(self, setup: Setup, device: Device) -> "Choice":
        """The device takes the place of the chosen one, which may be so large that nothing else could be made out."""
        devices = tuple(each for each in self.devices if each not in (self.device, device))
        return replace(self, setup=setup, device=device, devices=(*devices, device))

    def without_device(self, device: Device) -> "Choice":
        """One capacity line less; the last one stays."""
        left = tuple(each for each in self.devices if each != device)
        if not left:
            return self
        return replace(self, devices=left, device=left[0] if self.device == device else self.device)


def _in_order(precisions: tuple[Precision, ...]) -> tuple[Precision, ...]:
    return tuple(precision for precision in Precision if precision in precisions)


def _line(setup: Setup, precision: Precision, gpus: int) -> Setup:
    return replace(setup.on_gpus(gpus), precision=precision)


# A slider moves through a hundred batches in a second: what does not depend on them is computed once.
@lru_cache(maxsize=64)
def _lines(setup: Setup, precisions: tuple[Precision, ...], gpu_counts: tuple[int, ...]) -> tuple[Setup, ...]:
    return tuple(_line(setup, precision, gpus) for precision in precisions for gpus in gpu_counts)


@lru_cache(maxsize=64)
def _steps(
    setup: Setup, target: str, precisions: tuple[Precision, ...], gpu_counts: tuple[int, ...]
) -> tuple[StepSetup, ...]:
    wanted = (setup, *_lines(setup, precisions, gpu_counts))
    return tuple(dict.fromkeys(each.step(target) for each in wanted))
