"""What is to be trained, and the hardware that fits it."""

from dataclasses import dataclass, replace

from planner_app.core.estimate.level import Level
from planner_app.core.estimate.verdict import Verdict, judge
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.prices import Cost
from planner_app.core.hardware.refusal import Refusal
from planner_app.core.hardware.roofline import Speed
from planner_app.core.model.grow import Growth
from planner_app.core.model.setup import Backend, Jit, Precision, Setup, StepSetup
from planner_app.core.sharding.fraction import fraction_text
from planner_app.errors import SetupError

COUNTS = tuple(range(1, 17))
IN_ONE_MACHINE = 8  # few machines on sale hold more GPUs
ON_JAX = "with Keras on JAX, which compiles for several GPUs as TensorFlow does for one"


@dataclass(frozen=True, slots=True)
class ShopRequest:
    """What is to be trained.

    Attributes:
        setup: Batch, optimizer and the rest; `shop` chooses precision, GPUs and accumulation steps.
        precisions: Those allowed, preferred first.
        most_accumulate: The most accumulation steps to use if the batch doesn't fit at once.
        counts: GPU counts to try.
        sure: Even the high end of the estimate's band must fit: tight does not count.
        jax: Several GPUs may train with Keras on JAX where that is faster: it compiles for several GPUs, as Keras does
            on TensorFlow for one only.
    """

    setup: Setup
    precisions: tuple[Precision, ...] = (Precision.FLOAT32,)
    most_accumulate: int = 1
    counts: tuple[int, ...] = COUNTS
    sure: bool = False
    jax: bool = True

    def __post_init__(self) -> None:
        if not self.precisions or not self.counts or min(*self.counts, self.most_accumulate) < 1:
            said = f"{len(self.precisions)} precisions, GPUs {list(self.counts)}, {self.most_accumulate} steps at most"
            raise SetupError(f"{said}: expected at least one precision, and positive numbers.")
        if self.setup.backend is Backend.JAX:
            raise SetupError(
                "Hardware is compared for Keras on TensorFlow. For Keras on JAX, compare meshes and layouts on one "
                "kind of GPU: in the Sharding panel, or with max-batch --backend jax --mesh any."
            )

    def grown(self, growth: Growth, size: int) -> "ShopRequest":
        """The same with larger inputs."""
        return replace(self, setup=replace(self.setup, sizes=growth.into(self.setup.sizes, size)))

    def trained(self, precision: Precision, gpus: int, accumulate: int = 1) -> Setup:
        return replace(self.setup, precision=precision, gpus=gpus, accumulate=accumulate)

    def on_jax(self, precision: Precision, gpus: int, accumulate: int = 1) -> Setup | None:
        """The same with Keras on JAX; None if that can't be: every GPU must get the same number of samples."""
        if not self.jax or self.setup.jit is Jit.OFF or self.setup.batch % (gpus * accumulate):
            return None
        return replace(self.trained(precision, gpus, accumulate), backend=Backend.JAX, jit=Jit.AUTO)


@dataclass(frozen=True, slots=True)
class Option:
    """A number of GPUs of one kind that fits the training.

    Attributes:
        setup: How it is trained there.
        level: Memory of each GPU.
        limit_bytes: What TensorFlow gets of each GPU.
        largest_batch: The most samples that all GPUs together hold at a time.
        buy: Of the cards alone.
        hour: In the cheapest cloud.
        watts: Of all cards at full load.
        speed: `None` if the device's figures are unknown.
        slower: Why fewer of the same device are as fast or faster, in a few words; "" if they are not.
        calibrated: How measurements calibrated the figures, a sentence; "" if there are none.
        on_tensorflow: The speed there, where Keras on JAX is faster and meant; None if it does not fit there.
    """

    device: Device
    setup: Setup
    xla: bool
    level: Level
    limit_bytes: int
    largest_batch: int
    buy: Cost | None
    hour: Cost | None
    watts: int | None
    speed: Speed | None
    calibrated: str = ""
    slower: str = ""
    on_tensorflow: Speed | None = None

    @property
    def on_jax(self) -> bool:
        return self.setup.backend is Backend.JAX

    @property
    def gpus(self) -> int:
        return self.setup.gpus

    @property
    def headroom_bytes(self) -> int:
        return self.limit_bytes - self.level.peak_bytes

    @property
    def verdict(self) -> Verdict:
        return judge(self.level, self.limit_bytes)

    @property
    def even(self) -> bool:
        """Whether every GPU gets the same number of samples in every step."""
        return self.setup.batch % self.setup.shares == 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before spending money on it."""
        setup, device = self.setup, self.device
        said = []
        if self.verdict is Verdict.TIGHT:
            said.append("tight: the high end of the estimate's band does not fit")
        if self.slower:
            said.append(self.slower)
        if self.on_jax:
            said.append(ON_JAX)
            said += (each.rstrip(".") for each in fraction_text(device, self.limit_bytes, self.level.peak_bytes))
        if setup.accumulate > 1 and setup.gpus > 1 and not self.on_jax:
            said.append("Keras 3.15's own fit can't accumulate gradients on several GPUs, a plan's fit can")
        if not self.even:
            said.append(f"a batch of {setup.batch} can't be divided evenly")
        if setup.gpus > IN_ONE_MACHINE:
            said.append(f"few machines hold more than {IN_ONE_MACHINE} GPUs, and MirroredStrategy uses one machine")
        if device.unified:
            said.append("its memory is the host's own, shared with other programs")
        if device.total_is_derived:
            said.append("its reported memory is derived, not confirmed")
        if self.calibrated:
            said.append(self.calibrated[0].lower() + self.calibrated[1:].rstrip("."))
        return (*said, *(note.rstrip(".") for note in device.notes))

    @property
    def usd_per_million_samples(self) -> float | None:
        if self.hour is None or self.speed is None:
            return None
        return self.hour.usd / 3600 / self.speed.samples_per_second * 1e6


@dataclass(frozen=True, slots=True)
class Offers:
    """Attributes:
    missing: Traces needed to judge some of the devices, which are in neither list.
    """

    options: tuple[Option, ...]
    refusals: tuple[Refusal, ...]
    missing: tuple[StepSetup, ...] = ()

    @property
    def nearest(self) -> str:
        """Why the device that comes nearest to fitting does not; empty if something fits."""
        refusals = () if self.options else self.why_not()
        return refusals[0].sentence if refusals else ""

    def why_not(self) -> tuple[Refusal, ...]:
        """One for each device that does not fit it in any number: why its best number does not. Nearest first."""
        able = {option.device.name for option in self.options}
        last: dict[str, Refusal] = {}
        for refusal in self.refusals:
            before = last.get(refusal.device.name)
            if refusal.device.name not in able and (before is None or before.badness >= refusal.badness):
                last[refusal.device.name] = refusal
        return tuple(sorted(last.values(), key=lambda refusal: (refusal.why, refusal.shortfall)))


@dataclass(frozen=True, slots=True)
class Later:
    """What would fit the training with larger inputs.

    Attributes:
        size: The first of the sizes that grow.
        best: The best of the options within the limits; None if there is none.
        carrying: How many options there are.
        why_not: Why the model can't be built with inputs of that size; empty if it can.
    """

    growth: Growth
    size: int
    best: Option | None = None
    carrying: int = 0
    why_not: str = ""

    @property
    def what(self) -> str:
        return f"{self.growth.what} {self.size / self.growth.now:g} times: {self.growth.text(self.size)}"
