"""One way to train: what a user chooses, and the part of it that changes the step's graph."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from planner_app.core.sharding.layout import REPLICATED, Layout
from planner_app.core.sharding.mesh import ONE_GPU, Mesh
from planner_app.errors import SetupError
from planner_app.units import count_of


class Backend(StrEnum):
    """Of Keras."""

    TENSORFLOW = "tensorflow"
    JAX = "jax"

    @property
    def label(self) -> str:
        return {"tensorflow": "TensorFlow", "jax": "JAX"}[self.value]


class Precision(StrEnum):
    """A Keras dtype policy."""

    FLOAT32 = "float32"
    MIXED_FLOAT16 = "mixed_float16"
    MIXED_BFLOAT16 = "mixed_bfloat16"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT64 = "float64"


class Jit(StrEnum):
    """Whether the step is compiled by XLA. AUTO decides as Keras does."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


NEWEST, OLDEST = "gpu:8.0", "gpu:6.0"
HOPPER = 9.0  # gpu_blas_lt.h kHopperWorkspace: from here on XLA gives cuBLAS eight times the workspace
# Both sixteen-bit types take the same memory, so one trace serves both.
SAME_MEMORY = {Precision.MIXED_BFLOAT16: Precision.MIXED_FLOAT16, Precision.BFLOAT16: Precision.FLOAT16}
# Before Ampere, which has no bfloat16, XLA was seen to keep float32 instead (convolutional networks on a T4).
BRAIN_FLOATS, BRAIN_FLOATS_FROM = (Precision.MIXED_BFLOAT16, Precision.BFLOAT16), 8.0
# generic_layout_optimizer.cc: the compute capability from which on convolutions of a type lie as they do on newer ones;
# below, they lie as on the oldest. Training in float32 or float64 lies the same way on every GPU.
LAID_OUT_ALIKE_FROM = {
    Precision.MIXED_FLOAT16: 7.0,
    Precision.FLOAT16: 7.0,
    Precision.MIXED_BFLOAT16: 8.0,
    Precision.BFLOAT16: 8.0,
}

QUANTIZATIONS = ("int8", "int4", "float8")
MOST_RANK = 4096
MOST_OPTION = 2.0**63  # as a number of an option; no option needs more, and requests to workers hold no larger integers

Option = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Optimizer:
    """A Keras optimizer by name, with the options that differ from its defaults.

    "own" is the one the model was compiled with, with all its options; Adam where it was compiled with none.
    """

    name: str = "own"
    options: tuple[tuple[str, Option], ...] = ()

    def __str__(self) -> str:
        if not self.options:
            return self.name
        return f"{self.name}:{','.join(f'{key}={_written(value)}' for key, value in self.options)}"


OWN = Optimizer()


def parse_optimizer(text: str) -> Optimizer:
    """`adam`, or with options `sgd:momentum=0.9,nesterov=true`."""
    name, options = parse_named(text, "optimizer")
    return Optimizer(name.lower(), options)


def parse_lora(text: str) -> tuple[int, str]:
    """The rank, and the pattern of layers behind it; "" for those that are usually adapted: `8`, or `8:*query*`."""
    rank, _, pattern = text.strip().partition(":")
    if not 0 < count_of(rank) <= MOST_RANK:
        raise SetupError(f'"{text}": expected the rank of the adapters, as in 8 or 8:*query*.')
    return count_of(rank), pattern


def parse_named(text: str, what: str) -> tuple[str, tuple[tuple[str, Option], ...]]:
    """A name, and the options behind it: `huber:delta=2`."""
    name, _, rest = text.strip().partition(":")
    if not name.strip():
        article = "an" if what == "optimizer" else "a"
        example = '"adam" or "sgd:momentum=0.9"' if what == "optimizer" else '"huber" or "huber:delta=2"'
        raise SetupError(f'"{text}" does not name {article} {what}: expected a name as in {example}.')
    options = []
    for pair in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = pair.partition("=")
        if not equals or not key or not value:
            raise SetupError(f'"{pair}" in {what} "{text}" is not an option: expected name=value, as in momentum=0.9.')
        options.append((key.strip(), _read(value.strip())))
    return name.strip(), tuple(sorted(options))


def _read(text: str) -> Option:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if abs(value) < MOST_OPTION:  # nor what is infinite, or not a number
            return value
    return text


def _written(value: Option) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class StepSetup:
    """What the graph of a training step depends on. One trace answers for every batch size, GPU count and device.

    Attributes:
        target: "cpu", or "gpu" with the compute capability that decides the layout of convolutions ("gpu:8.0").
        accumulates: Gradients are accumulated over several steps before an update.
        replicated: Trained by several GPUs: gradients are reduced over them.
        xla: Compiled by XLA as one program.
        freeze: Patterns (as in file names) of layers that are not trained.
        remat: A mode of keras.RematScope, or "" for none.
        sizes: Input sizes by input name, without the batch.
        loss: A Keras loss, with options as optimizers have them, or "" for the model's own (mean squared error where it
            has none).
        lora: Rank of low-rank adapters and a pattern of the layers that get them, as in "8:*query*"; "" for none.
        quantize: Weights in fewer bits: "int8", "int4", "float8"; "" for as they are.
        left_to_model: Whether XLA compiles the step is for the model to say, where its author said it.
        mesh: How the GPUs are arranged, on JAX. `layout` says where variables lie on them.
    """

    precision: Precision = Precision.FLOAT32
    optimizer: Optimizer = Optimizer()
    accumulates: bool = False
    replicated: bool = False
    xla: bool = False
    target: str = "cpu"
    freeze: tuple[str, ...] = ()
    remat: str = ""
    sizes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    loss: str = ""
    left_to_model: bool = True
    lora: str = ""
    quantize: str = ""
    backend: Backend = Backend.TENSORFLOW
    mesh: Mesh = ONE_GPU
    layout: Layout = REPLICATED

    @property
    def capability(self) -> float:
        """The GPU's compute capability; 0 for the CPU."""
        return _capability(self.target)


def _in_steps(accumulate: int) -> str:
    return f" in {accumulate} steps" if accumulate > 1 else ""


def _capability(target: str) -> float:
    return float(target.partition(":")[2] or 0)


def _compiled_for(target: str) -> str:
    """XLA's program differs with the workspace of cuBLAS; on the CPU it stands for that of a GPU."""
    return f"gpu:{HOPPER}" if _capability(target) >= HOPPER else NEWEST


MOST = 2**31 - 1  # TensorFlow counts along one dimension in 32 bits in most kernels


@dataclass(frozen=True, slots=True)
class Setup:
    """One way to train a model: one point of the chart.

    Attributes:
        batch: Samples per optimizer update, over all GPUs and accumulation steps.
        gpus: Number of identical GPUs: data-parallel, or as many as the mesh has.
        accumulate: Steps over which gradients are accumulated before an update.
        mesh: On JAX, how the GPUs are arranged; one is made of `gpus` where none is given.
        layout: On JAX, where variables lie on the mesh.
    """

    batch: int
    precision: Precision = Precision.FLOAT32
    gpus: int = 1
    accumulate: int = 1
    optimizer: Optimizer = Optimizer()
    jit: Jit = Jit.AUTO
    freeze: tuple[str, ...] = ()
    remat: str = ""
    sizes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    loss: str = field(default="")
    lora: str = ""
    quantize: str = ""
    backend: Backend = Backend.TENSORFLOW
    mesh: Mesh = ONE_GPU
    layout: Layout = REPLICATED

    def __post_init__(self) -> None:
        self._arrange()
        if self.gpus < 1 or self.accumulate < 1:
            raise SetupError(
                f"{self.gpus} GPUs and {self.accumulate} accumulation steps: expected at least one of each."
            )
        if max(self.batch, self.gpus, self.accumulate) > MOST:
            raise SetupError(
                f"A batch of {str(self.batch)[:20]} on {str(self.gpus)[:20]} GPUs: expected numbers up to {MOST:,}."
            )
        if self.lora:
            parse_lora(self.lora)
        if self.quantize and self.quantize not in QUANTIZATIONS:
            raise SetupError(f'"{self.quantize}" is not a way to quantise: expected one of {", ".join(QUANTIZATIONS)}.')
        if self.batch < self.shares:
            raise SetupError(
                f"A batch of {self.batch} can't feed {self.replicas} GPUs{_in_steps(self.accumulate)}: "
                f"use at least {self.shares}."
            )
        if self.backend is Backend.JAX and self.batch % self.shares:
            raise SetupError(
                f"A batch of {self.batch} can't be shared out evenly, as Keras does it on JAX: use a multiple of "
                f"{self.shares}, for {self.replicas} shares of the batch{_in_steps(self.accumulate)}."
            )

    def _arrange(self) -> None:
        """A mesh and a number of GPUs say the same; on TensorFlow there is no mesh."""
        if self.backend is Backend.TENSORFLOW:
            if self.mesh != ONE_GPU or self.layout != REPLICATED:
                raise SetupError(
                    "A mesh and a layout are for Keras on JAX: TensorFlow's strategies hold every variable on every "
                    "GPU. Choose --backend jax, or leave them out."
                )
            return
        if self.jit is Jit.OFF:
            raise SetupError("On JAX every step is compiled by XLA: leave --jit out.")
        if self.mesh == ONE_GPU and self.gpus > 1:
            object.__setattr__(self, "mesh", Mesh(self.gpus))
        if self.gpus not in (1, self.mesh.gpus):
            raise SetupError(f"A mesh of {self.mesh} has {self.mesh.gpus} GPUs, not {self.gpus}: leave --gpus out.")
        object.__setattr__(self, "gpus", self.mesh.gpus)

    @property
    def replicas(self) -> int:
        """Shares of the batch that are worked on at the same time."""
        return self.mesh.data if self.backend is Backend.JAX else self.gpus

    @property
    def shares(self) -> int:
        """Into so many pieces a batch is cut, over GPUs and accumulation steps."""
        return self.replicas * self.accumulate

    @property
    def per_gpu_batch(self) -> int:
        """Samples one GPU holds at a time; the last share may be smaller, the largest decides."""
        return -(-self.batch // self.shares)

    def uses_xla(self, on_gpu: bool) -> bool:
        """Keras' `_resolve_auto_jit_compile`: on a GPU yes, under a strategy or on the CPU no. On JAX always."""
        if self.backend is Backend.JAX:
            return True
        if self.jit is Jit.AUTO:
            return on_gpu and self.gpus == 1
        return self.jit is Jit.ON

    def step(self, target: str) -> StepSetup:
        """The part that changes the graph, on a target ("cpu" or "gpu:8.0")."""
        if self.backend is Backend.JAX:
            return self._jax_step(target)
        on_gpu = target != "cpu"
        xla = self.uses_xla(on_gpu)
        capability = _capability(target)
        precision = SAME_MEMORY.get(self.precision, self.precision)
        if on_gpu and xla:
            target = _compiled_for(target)
            if self.precision in BRAIN_FLOATS and capability < BRAIN_FLOATS_FROM:
                precision = Precision.FLOAT32
        elif on_gpu:
            target = NEWEST if capability >= LAID_OUT_ALIKE_FROM.get(self.precision, 0.0) else OLDEST
        return StepSetup(
            precision=precision,
            optimizer=self.optimizer,
            accumulates=self.accumulate > 1,
            replicated=self.gpus > 1,
            xla=xla,
            target=target,
            freeze=self.freeze,
            remat=self.remat,
            sizes=self.sizes,
            loss=self.loss,
            left_to_model=self.jit is Jit.AUTO,
            lora=self.lora,
            quantize=self.quantize,
        )

    def _jax_step(self, target: str) -> StepSetup:
        """Lowered for the compiler: of the kind of GPU only cuBLAS' workspace depends on it."""
        return StepSetup(
            precision=self.precision,
            optimizer=self.optimizer,
            accumulates=self.accumulate > 1,
            replicated=self.gpus > 1,
            xla=True,
            target=_compiled_for(target),
            freeze=self.freeze,
            remat=self.remat,
            sizes=self.sizes,
            loss=self.loss,
            left_to_model=False,
            lora=self.lora,
            quantize=self.quantize,
            backend=self.backend,
            mesh=self.mesh,
            layout=self.layout,
        )

    def with_batch(self, batch: int) -> "Setup":
        return replace(self, batch=batch)

    def least(self) -> "Setup":
        """One sample in each share of the batch."""
        return replace(self, batch=self.shares)

    def on_gpus(self, gpus: int) -> "Setup":
        """The same training on so many GPUs, with one sample in each share of the batch."""
        if self.backend is not Backend.JAX:
            return replace(self, gpus=gpus, batch=gpus * self.accumulate)
        return self.on_mesh(self.mesh.over(gpus), self.layout if gpus > 1 else REPLICATED)

    def on_mesh(self, mesh: Mesh, layout: Layout) -> "Setup":
        """The same training shared out in another way, on JAX, with one sample in each share of the batch."""
        return replace(
            self, batch=mesh.data * self.accumulate, backend=Backend.JAX, jit=Jit.AUTO, gpus=1, mesh=mesh, layout=layout
        )

    def with_optimizer(self, optimizer: Optimizer) -> "Setup":
        return replace(self, optimizer=optimizer)
