"""The plan: how to train one model on one or more kinds of devices, for a training script to follow.

    plan.training.global_batch = rung.per_gpu_batch x entry.gpus x rung.accumulate   (the last share may be smaller)

A plan is data. Nothing in it is ever executed: names are looked up in lists, and only environment variables that tune
memory are allowed. The types contain the limits, which are checked on reading. Training scripts import this module, so
it imports nothing slow.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta

from planner_app.core.estimate.level import Level
from planner_app.core.model.setup import Backend, Jit, Optimizer, Option, Precision, Setup
from planner_app.core.sharding.layout import Layout, LayoutName, Rule
from planner_app.core.sharding.mesh import Mesh
from planner_app.errors import PlanError, SetupError

VERSION = 2
MOST = 1 << 31  # samples, GPUs, steps: larger numbers are mistakes
MOST_BYTES = 1 << 60
MOST_LETTERS = 4000
ADDRESS = r"[A-Za-z0-9_.\-]{1,253}:\d{1,5}|\[[0-9A-Fa-f:.]{2,45}\]:\d{1,5}"
MOST_ENTRIES = 1000  # of any list or table in a plan


def like(pattern: str, example: str) -> Meta:
    """The pattern of a whole string, and an example for error messages."""
    return Meta(pattern=rf"(?a)\A(?:{pattern})\Z", examples=[example])


Count = Annotated[int, Meta(ge=1, le=MOST)]
Number = Annotated[int, Meta(ge=0, le=MOST)]
Bytes = Annotated[int, Meta(ge=0, le=MOST_BYTES)]
Difference = Annotated[int, Meta(ge=-MOST_BYTES, le=MOST_BYTES)]
Date = Annotated[str, like(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "2026-11-16T05:00:00Z")]
Digest = Annotated[str, like(r"([0-9a-f]{64})?", "64 hexadecimal digits, or nothing")]
Address = Annotated[str, like(ADDRESS, "gpu-1:2222")]
OptimizerName = Annotated[str, like(r"[a-z][a-z0-9_]{0,60}", "adam")]
Adapters = Annotated[str, like(r"([1-9]\d{0,3}(:[^\x00-\x1f\x7f-\x9f]{1,400})?)?", "8, or 8:*query*")]
Quantization = Annotated[str, like("(int8|int4|float8)?", "int8")]


class SourceKind(StrEnum):
    """How a figure came about."""

    ESTIMATE = "estimate"
    COMPILE = "compile"
    MEASURED = "measured"


class DeviceKind(StrEnum):
    GPU = "gpu"
    CPU = "cpu"


class Allocator(StrEnum):
    """TensorFlow's own, or CUDA's, which fragments less but is harder to predict."""

    BFC = "bfc"
    CUDA_MALLOC_ASYNC = "cuda_malloc_async"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure comes from: how, when, with which versions, and on what device if it was measured."""

    kind: SourceKind
    versions: Mapping[str, str]
    date: Date
    on: str


@dataclass(frozen=True, slots=True)
class Peak:
    """In use on one GPU, as TensorFlow's allocator counts it; `device_bytes` is what nvidia-smi would report.

    Attributes:
        terms: What the expected peak is made of, as an estimate's breakdown says it; empty in plans of version 1.
    """

    expected_bytes: Bytes
    low_bytes: Bytes
    high_bytes: Bytes
    device_bytes: Bytes
    source: Source
    terms: Mapping[str, Difference] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.terms and sum(self.terms.values()) != self.expected_bytes:
            raise PlanError(
                f"the terms of a peak sum to {sum(self.terms.values())} bytes: expected {self.expected_bytes}, the peak"
            )
        if not self.low_bytes <= self.expected_bytes <= self.high_bytes:
            raise PlanError(
                f"a peak of {self.expected_bytes} bytes does not lie between {self.low_bytes} and {self.high_bytes}: "
                "expected the low end below it and the high end above"
            )

    @property
    def level(self) -> Level:
        return Level(self.expected_bytes, self.low_bytes, self.high_bytes)


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to train with the plan's global batch. `jit` says whether the step is compiled by XLA."""

    per_gpu_batch: Count
    accumulate: Count
    precision: Precision
    jit: bool
    peak: Peak


@dataclass(frozen=True, slots=True)
class PlannedDevice:
    """Attributes:
    capacity_bytes: What TensorFlow's allocator may take; None without a limit.
    """

    name: str
    kind: DeviceKind
    total_bytes: Bytes | None
    compute_capability: tuple[int, int] | None
    capacity_bytes: Bytes | None


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """How TensorFlow allocates the GPU's memory.

    Attributes:
        growth: As needed instead of all at the start.
        limit_bytes: The most on each GPU; None for TensorFlow's default.
    """

    growth: bool = False
    limit_bytes: Bytes | None = None
    allocator: Allocator = Allocator.BFC

    def __post_init__(self) -> None:
        if self.growth and self.limit_bytes is not None:
            raise PlanError("TensorFlow accepts either a limit or growth, not both: leave one out")


# Variables that tune memory, and the values that do only that. TF_XLA_FLAGS and XLA_FLAGS can name folders to write to
# and programs to run, so only numeric flags are allowed.
ENVIRONMENT = {
    "KERAS_BACKEND": "tensorflow|jax",
    "XLA_PYTHON_CLIENT_MEM_FRACTION": r"0?\.\d{1,4}|1(\.0{1,4})?",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true|false",
    "TF_GPU_ALLOCATOR": "cuda_malloc_async",
    "TF_CPU_ALLOCATOR_USE_BFC": "[01]",
    "TF_CPU_BFC_MEM_LIMIT_IN_MB": r"\d{1,9}",
    "TF_ENABLE_ONEDNN_OPTS": "[01]",
    "TF_DEVICE_MIN_SYS_MEMORY_IN_MB": r"\d{1,9}",
    "TF_CUDNN_WORKSPACE_LIMIT_IN_MB": r"\d{1,9}",
    "TF_CUDNN_USE_AUTOTUNE": "[01]",
    "TF_XLA_FLAGS": r"--tf_xla_auto_jit=\d",
    "XLA_FLAGS": r"--xla_gpu_autotune_level=\d",
    "CUDA_VISIBLE_DEVICES": r"(\d{1,3}|GPU-[0-9a-f-]{1,40}|MIG-[0-9a-f-]{1,40})(,(\d{1,3}|GPU-[0-9a-f-]{1,40}))*",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID|FASTEST_FIRST",
}


@dataclass(frozen=True, slots=True)
class LargestAtOnce:
    """The most samples that one GPU holds at a time: counting tight, and only what is sure to fit."""

    per_gpu_batch: Bytes
    sure_per_gpu_batch: Bytes


@dataclass(frozen=True, slots=True)
class PlannedSharding:
    """How Keras on JAX shares a model out over GPUs.

    Attributes:
        data: Shares of the batch; `model`: shares of dimensions on the model axis.
        layout: What the rules are called; "data" has none, every GPU holds every variable.
        rules: As `keras.distribution.LayoutMap` takes them: patterns of variable paths, an axis or null a dimension.
    """

    data: Count
    model: Count
    layout: str
    rules: Mapping[str, tuple[str | None, ...]]

    def __post_init__(self) -> None:
        try:
            self.resolved()
        except (SetupError, ValueError) as error:
            raise PlanError(f"the layout can't be used: {error}") from error

    @property
    def mesh(self) -> Mesh:
        return Mesh(self.data, self.model)

    def resolved(self) -> Layout:
        rules = tuple(Rule(pattern, tuple(axes)) for pattern, axes in self.rules.items())
        return Layout(LayoutName(self.layout), rules)


@dataclass(frozen=True, slots=True)
class Entry:
    """How to train on one kind of device.

    Attributes:
        rungs: In the order in which they are tried, each needing less.
        largest: For the requested setup, without accumulation; None without a limit, or in older plans.
        sharding: For Keras on JAX; None for TensorFlow.
    """

    device: PlannedDevice
    gpus: Count
    memory: MemorySettings
    environment: Mapping[str, str]
    rungs: tuple[Rung, ...]
    largest: LargestAtOnce | None = None
    sharding: PlannedSharding | None = None

    @property
    def backend(self) -> Backend:
        return Backend.TENSORFLOW if self.sharding is None else Backend.JAX

    @property
    def replicas(self) -> int:
        """Shares of the batch that are worked on at the same time."""
        return self.gpus if self.sharding is None else self.sharding.data

    def __post_init__(self) -> None:
        if self.sharding is not None and self.sharding.mesh.gpus != self.gpus:
            raise PlanError(f"a mesh of {self.sharding.mesh} has {self.sharding.mesh.gpus} GPUs, not {self.gpus}")
        if not self.rungs:
            raise PlanError("there is no rung: expected at least one")
        for name, value in self.environment.items():
            allowed = ENVIRONMENT.get(name)
            if allowed is None:
                raise PlanError(f"a plan can't set {name!r}: it may set {', '.join(ENVIRONMENT)}")
            if not re.fullmatch(allowed, value, re.ASCII):
                raise PlanError(f"a plan can't set {name} to {value[:80]!r}: that value does more than tune memory")


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """Which model. A plan never opens the file: `sha256` shows whether it has changed.

    Attributes:
        file: The model's file name, or `file.py:function`, without its folder.
        parameters: Numbers that are trained; `weights` says in how many arrays, `fingerprint` is of their sizes.
    """

    name: str
    file: str
    format: str
    sha256: Digest
    parameters: Annotated[int, Meta(ge=0, le=MOST_BYTES)]
    weights: Number
    fingerprint: Digest


@dataclass(frozen=True, slots=True)
class PlannedOptimizer:
    name: OptimizerName
    options: Mapping[str, Option]


@dataclass(frozen=True, slots=True)
class Training:
    """What stays the same on every rung.

    Attributes:
        sizes: Of inputs, without the batch, where they were chosen.
        lora: Rank of low-rank adapters that are trained instead of the weights, and a pattern of the layers that get
            them; "" for none, or for those that the model has of itself.
        quantize: Weights in fewer bits; "" for as they are.
    """

    global_batch: Count
    optimizer: PlannedOptimizer
    loss: str
    freeze: tuple[str, ...]
    remat: str
    sizes: Mapping[str, tuple[Count, ...]]
    lora: Adapters = ""
    quantize: Quantization = ""


@dataclass(frozen=True, slots=True)
class InputPlan:
    """The input pipeline in host memory. `host_bytes` is sample bytes times what prefetch, shuffle and cache hold."""

    sample_bytes: Bytes
    prefetch_batches: Number
    shuffle_samples: Annotated[int, Meta(ge=0, le=MOST_BYTES)]
    cached_samples: Annotated[int, Meta(ge=0, le=MOST_BYTES)]
    host_bytes: Bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """Attributes:
    versions: Of plimsoll, TensorFlow and Keras, when the plan was made.
    hosts: Machines that train together, each with an equal share of the GPUs; none means this one.
    devices: An entry for each kind of device; a script takes the one it runs on.
    """

    schema_version: int
    created: Date
    versions: Mapping[str, str]
    model: PlannedModel
    training: Training
    devices: tuple[Entry, ...]
    hosts: tuple[Address, ...]
    input: InputPlan
    warnings: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.devices:
            raise PlanError("there is no device: expected at least one")
        names = [entry.device.name.casefold() for entry in self.devices]
        if len(set(names)) < len(names):
            raise PlanError(f"a device has two entries: {', '.join(entry.device.name for entry in self.devices)}")
        if len(set(self.hosts)) < len(self.hosts):
            raise PlanError(f"a host is named twice in {', '.join(self.hosts)}")
        for entry in self.devices:
            if self.hosts and entry.gpus % len(self.hosts):
                raise PlanError(f"{entry.gpus} GPUs can't be divided evenly among {len(self.hosts)} hosts")
            for rung in entry.rungs:
                check_rung(rung, entry.replicas, self.training.global_batch)

    def setup(self, entry: Entry, rung: Rung) -> Setup:
        """One rung as a setup to estimate or measure."""
        over = entry.sharding
        sharding: dict[str, Any] = {}
        if over is not None:
            sharding = {"backend": Backend.JAX, "mesh": over.mesh, "layout": over.resolved()}
        return Setup(
            **sharding,
            batch=self.training.global_batch,
            precision=rung.precision,
            gpus=entry.gpus,
            accumulate=rung.accumulate,
            optimizer=Optimizer(self.training.optimizer.name, tuple(sorted(self.training.optimizer.options.items()))),
            jit=Jit.ON if rung.jit else Jit.OFF,
            freeze=self.training.freeze,
            remat=self.training.remat,
            sizes=tuple(self.training.sizes.items()),
            loss=self.training.loss,
            lora=self.training.lora,
            quantize=self.training.quantize,
        )

    def with_peak(self, device: str, rung: int, peak: Peak) -> "Plan":
        """The same plan with a better figure for one rung: compiled, or measured."""
        return replace(
            self,
            devices=tuple(
                replace(
                    entry,
                    rungs=tuple(replace(r, peak=peak) if n == rung else r for n, r in enumerate(entry.rungs)),
                )
                if entry.device.name.casefold() == device.casefold()
                else entry
                for entry in self.devices
            ),
        )


def check_rung(rung: Rung, gpus: int, global_batch: int) -> None:
    """The three numbers must multiply to the batch, so none of them can be changed alone."""
    share = -(-global_batch // (gpus * rung.accumulate))
    if global_batch < gpus * rung.accumulate or rung.per_gpu_batch != share:
        raise PlanError(
            f"{rung.per_gpu_batch} samples on each of {gpus} GPUs in {rung.accumulate} steps is not the global batch "
            f"of {global_batch}"
        )


def fits(entry: Entry, rung: Rung) -> bool | None:
    """Whether the expected peak is within the device's capacity; None without a limit."""
    capacity = entry.device.capacity_bytes
    return None if capacity is None else rung.peak.expected_bytes <= capacity


def fingerprint(sizes: Iterable[int]) -> str:
    """Of the arrays that are trained: SHA-256 of their sizes in ascending order, joined by commas."""
    return hashlib.sha256(",".join(map(str, sorted(sizes))).encode()).hexdigest()
