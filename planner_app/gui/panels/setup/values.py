"""The setup panel as plain values: what its fields show, and how their text is read."""

from dataclasses import dataclass
from math import prod

from planner_app.core.model.choices import REMAT_WITH_ARGUMENT
from planner_app.core.model.description import ModelDescription, TensorShape
from planner_app.core.model.setup import OWN, Backend, Jit, Precision, Setup
from planner_app.core.replay.memory import Memory
from planner_app.errors import SetupError
from planner_app.gui.panels.setup.backend import ON_TENSORFLOW, BackendValues
from planner_app.gui.state.choice import Choice
from planner_app.units import count_of, format_bytes

SPARSE = "sparse_categorical_crossentropy"
Sizes = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class InputField:
    """One input of the model.

    Attributes:
        shape: As in the file, without the batch: "height x width x 3".
        text: What the user has entered; empty: as in the file.
        open: A dimension is unknown, and nothing has been entered.
    """

    name: str
    shape: str
    text: str
    open: bool


@dataclass(frozen=True, slots=True)
class SetupValues:
    batch: int = 1
    each: str = ""
    precision: Precision = Precision.FLOAT32
    gpus: int = 1
    accumulate: int = 1
    optimizer: str = "own"
    jit: Jit = Jit.AUTO
    jit_note: str = ""
    freeze: str = ""
    remat_mode: str = ""
    remat_argument: str = ""
    loss: str = ""
    saved_loss: str = ""
    assumed: str = ""
    offers_sparse: bool = False
    differs_from_own: bool = False
    lora: str = ""
    quantize: str = ""
    backend: BackendValues = ON_TENSORFLOW
    inputs: tuple[InputField, ...] = ()
    precisions: tuple[Precision, ...] = ()
    gpu_counts: tuple[int, ...] = ()
    layers: tuple[str, ...] = ()

    @property
    def counts_text(self) -> str:
        return ", ".join(map(str, self.gpu_counts))


def setup_values(choice: Choice, description: ModelDescription | None, memory: Memory | None) -> SetupValues:
    setup = choice.setup
    mode, _, argument = setup.remat.partition(":")
    return SetupValues(
        batch=setup.batch,
        each=each_text(setup),
        precision=setup.precision,
        gpus=setup.gpus,
        accumulate=setup.accumulate,
        optimizer=str(setup.optimizer),
        jit=setup.jit,
        jit_note=jit_text(choice, memory),
        freeze=", ".join(setup.freeze),
        remat_mode=mode,
        remat_argument=argument,
        loss=setup.loss,
        saved_loss=(description.loss or "") if description else "",
        assumed=assumed_text(setup, description) if description else "",
        offers_sparse=description is not None and loss_is_assumed(setup, description) and _has_classes(description),
        differs_from_own=(setup.optimizer, setup.loss, setup.jit) != (OWN, "", Jit.AUTO),
        lora=setup.lora,
        quantize=setup.quantize,
        backend=BackendValues(setup.backend, str(setup.mesh), str(setup.layout)),
        inputs=tuple(_input_field(each, dict(setup.sizes)) for each in description.inputs) if description else (),
        precisions=choice.precisions,
        gpu_counts=choice.gpu_counts,
        layers=tuple(layer.name for layer in description.layers) if description else (),
    )


def loss_is_assumed(setup: Setup, description: ModelDescription) -> bool:
    """The file names no loss, and neither does the user."""
    return not setup.loss and not description.loss


def assumed_text(setup: Setup, description: ModelDescription) -> str:
    """What is assumed, and what it costs; empty if nothing is."""
    if not loss_is_assumed(setup, description):
        return ""
    said = "Assumed: mean squared error. The file was saved without a loss."
    size = targets_bytes(setup, description)
    if not size:
        return said
    return f"{said} Its targets have the shape of the output: {format_bytes(size)} at this batch."


def targets_bytes(setup: Setup, description: ModelDescription) -> int:
    """Of targets shaped like the outputs, in float32; 0 if a size is unknown."""
    sizes = [output.shape[1:] for output in description.outputs]
    if not all(isinstance(size, int) for shape in sizes for size in shape):
        return 0
    return sum(4 * prod(int(size) for size in shape) for shape in sizes) * setup.per_gpu_batch


def _has_classes(description: ModelDescription) -> bool:
    """Whether a number could stand for the last dimension of every output."""
    return all(isinstance(last := output.shape[-1], int) and last > 1 for output in description.outputs)


def each_text(setup: Setup) -> str:
    """How a batch is divided."""
    if setup.backend is Backend.JAX and setup.mesh.model > 1:
        steps = f" in {setup.accumulate} steps" if setup.accumulate > 1 else ""
        cut = "the whole batch" if setup.replicas == 1 else f"{setup.replicas} shares of the batch"
        return f"{setup.per_gpu_batch:,} at a time: {cut}{steps}, each on {setup.mesh.model} GPUs."
    if setup.gpus == 1 and setup.accumulate == 1:
        return "The whole batch at once, on one GPU."
    shares = []
    if setup.gpus > 1:
        shares.append(f"{setup.gpus} GPUs")
    if setup.accumulate > 1:
        shares.append(f"{setup.accumulate} steps")
    return f"{setup.per_gpu_batch:,} at a time on each GPU, divided among {' and '.join(shares)}."


def jit_text(choice: Choice, memory: Memory | None) -> str:
    setup = choice.setup
    wanted = setup.uses_xla(choice.device.cuda)
    if setup.backend is Backend.JAX:
        return "On JAX every step is compiled by XLA."
    if memory is not None and memory.points and wanted and not memory.xla:
        return "Off: a layer of this model does not allow XLA."
    if setup.jit is not Jit.AUTO:
        return "XLA compiles the step." if wanted else "The step runs operation by operation."
    if not choice.device.cuda:
        return "Auto means off on the CPU."
    return "Auto means on: one GPU." if wanted else "Auto means off: Keras turns XLA off with several GPUs."


def _input_field(shape: TensorShape, sizes: dict[str, tuple[int, ...]]) -> InputField:
    known = shape.shape[1:]
    given = sizes.get(shape.name)
    return InputField(
        name=shape.name,
        shape=" x ".join(map(str, known)) or "a number",
        text=", ".join(map(str, given)) if given else "",
        open=given is None and any(isinstance(dimension, str) for dimension in known),
    )


def parse_patterns(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def parse_counts(text: str) -> tuple[int, ...]:
    """`1, 2, 4`."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(0 < count_of(part) <= 4096 for part in parts):
        raise SetupError(f'"{text}" is not a list of GPU counts: expected numbers, as in 1, 2, 4.')
    return tuple(sorted({int(part) for part in parts}))


def parse_sizes(sizes: Sizes, name: str, text: str) -> Sizes:
    """Change the size of one input: `224, 224, 3`; empty: as in the file."""
    others = tuple(each for each in sizes if each[0] != name)
    parts = [part.strip() for part in text.replace("x", ",").split(",") if part.strip()]
    if not parts:
        return others
    if not all(map(count_of, parts)):
        raise SetupError(f'sizes of input {name}: expected numbers without the batch, as in 224, 224, 3, got "{text}".')
    return (*others, (name, tuple(map(int, parts))))


def remat_of(mode: str, argument: str) -> str:
    """In the form of `Setup.remat`; a mode that needs an argument waits for one."""
    if mode not in REMAT_WITH_ARGUMENT:
        return mode
    if not argument.strip():
        example = "a number of elements, as in 100000" if mode == "larger_than" else "layers, as in conv1+conv2"
        raise SetupError(f"Rematerialising {mode.replace('_', ' ')} needs {example}.")
    return f"{mode}:{argument.strip()}"
