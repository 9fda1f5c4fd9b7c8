"""Requests for advice, and the advice."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup, StepSetup


class Cost(IntEnum):
    """What a change costs the user, cheapest first: settings, then time, then the result, then money."""

    ALLOCATOR = 1
    ACCUMULATE = 2
    XLA = 3
    PRECISION = 4
    REMAT = 5
    BATCH = 7
    OPTIMIZER = 9
    LORA = 10
    FREEZE = 11
    INPUT = 13
    GPUS = 15
    SHARDING = 16
    DEVICE = 17


@dataclass(frozen=True, slots=True)
class AdviceRequest:
    """A training that should fit.

    Attributes:
        limit_bytes: What the allocator may take; None for what TensorFlow gets of the device.
        devices: Larger devices to consider too.
        inputs: The model's inputs by name, with their sizes without the batch: unknown ones left out.
        jax: Whether steps can be traced on JAX, where GPUs share out the weights.
    """

    setup: Setup
    device: Device
    limit_bytes: int | None = None
    devices: tuple[Device, ...] = ()
    inputs: tuple[tuple[str, tuple[int, ...]], ...] = ()
    jax: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """One thing to do differently: a sentence, the lines of code, and what to know before."""

    cost: Cost
    text: str
    code: tuple[str, ...]
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """A combination of changes and its effect.

    Attributes:
        setup: The changed setup, which Apply in the app sets.
        device: Where it is trained; a different one if the change is a larger GPU.
        environment: To set before TensorFlow is imported.
        after_bytes: In use at the peak, as expected; `high_bytes` the high end of its band.
        largest: If the batch changes: the largest, counting tight; None otherwise.
        slower: How many times as long a step takes, per sample: a roofline estimate. None if unknown.
        more_arithmetic: How many times as many multiplications, per sample.
    """

    changes: tuple[Change, ...]
    setup: Setup
    device: Device
    before_bytes: int
    after_bytes: int
    high_bytes: int
    limit_bytes: int
    verdict: Verdict
    xla: bool = False
    slower: float | None = None
    more_arithmetic: float | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    largest: int | None = None

    @property
    def fits(self) -> bool:
        """Tight counts as yes."""
        return self.verdict.yes()

    @property
    def saved_bytes(self) -> int:
        return self.before_bytes - self.after_bytes

    @property
    def cost(self) -> int:
        """Two changes cost more than their sum: each has to be understood."""
        return sum(change.cost for change in self.changes) + len(self.changes) - 1


@dataclass(frozen=True, slots=True)
class Hint:
    """Advice that a setup can't express: a change to the model, or to how it is run."""

    text: str
    code: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """Attributes:
    verdict: Of the unchanged training; None until it is traced.
    options: Changes, alone or together, that make it fit: sure ones before tight ones, then cheapest first.
    helpful: Single changes that save memory, but not enough.
    missing: Traces needed for further advice; empty when the advice is complete.
    calibrated: How measurements calibrated the figures, a sentence; "" if there are none.
    """

    request: AdviceRequest
    verdict: Verdict | None
    before_bytes: int = 0
    limit_bytes: int | None = None
    options: tuple[Option, ...] = ()
    helpful: tuple[Option, ...] = ()
    hints: tuple[Hint, ...] = ()
    missing: tuple[StepSetup, ...] = ()
    calibrated: str = ""

    @property
    def fits(self) -> bool:
        """Tight counts as yes."""
        return self.verdict is not None and self.verdict.yes()
