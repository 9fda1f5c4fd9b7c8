"""From words to a setup: the same for the Python API, training scripts and tuners."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TypedDict, TypeVar

from planner_app.core.model.setup import Backend, Jit, Precision, Setup, parse_optimizer
from planner_app.core.sharding.mesh import parse_mesh
from planner_app.errors import SetupError
from planner_app.files.layouts import sharding

E = TypeVar("E", bound=StrEnum)


class SetupOptions(TypedDict, total=False):
    """How to train, beside the batch.

    Attributes:
        precision: A Keras dtype policy, as "mixed_bfloat16".
        gpus: Identical GPUs, data-parallel.
        accumulate: Steps whose gradients are added up before an update.
        optimizer: As "adam" or "sgd:momentum=0.9"; by default the model's own.
        jit: "auto" as Keras decides, "on" or "off".
        freeze: Patterns of layers that are not trained, as "block1_*".
        remat: "full", "activations", "larger_than:N" or "list_of_layers:A+B".
        sizes: Sizes of inputs by name, without the batch.
        loss: A Keras loss, as "huber" or "huber:delta=2"; by default the model's own.
        lora: Rank of low-rank adapters that are trained instead of the weights, as "8" or "8:*query*".
        quantize: Weights as "int8", "int4" or "float8".
        backend: Keras' backend: "tensorflow" or "jax".
        mesh: On JAX, GPUs as shares of the batch and of the model, as "2x4".
        layout: On JAX, where variables lie on the mesh: "data", "auto", "own", "fsdp" or a file of rules.
    """

    precision: str
    gpus: int
    accumulate: int
    optimizer: str
    jit: str
    freeze: Iterable[str]
    remat: str
    sizes: Mapping[str, Sequence[int]]
    loss: str
    lora: str
    quantize: str
    backend: str
    mesh: str
    layout: str


def setup_of(batch: int, options: SetupOptions) -> Setup:
    """
    Raises:
        SetupError: One of the options does not make sense.
    """
    backend = member(Backend, options.get("backend", "tensorflow"), "backend")
    if backend is Backend.TENSORFLOW and ("mesh" in options or "layout" in options):
        raise SetupError('mesh and layout are for Keras on JAX: add backend="jax".')
    chosen = Setup(
        batch=batch,
        precision=member(Precision, options.get("precision", "float32"), "precision"),
        gpus=options.get("gpus", 1),
        accumulate=options.get("accumulate", 1),
        jit=member(Jit, options.get("jit", "auto"), "jit"),
        freeze=tuple(options.get("freeze", ())),
        remat=options.get("remat", ""),
        sizes=tuple((name, tuple(sizes)) for name, sizes in (options.get("sizes") or {}).items()),
        loss=options.get("loss", ""),
        lora=options.get("lora", ""),
        quantize=options.get("quantize", ""),
        backend=backend,
        **sharding(options.get("mesh"), options.get("layout")),
    )
    if "optimizer" not in options:
        return chosen
    return chosen.with_optimizer(parse_optimizer(options["optimizer"]))


def least_batch(options: SetupOptions) -> int:
    """The smallest batch that feeds every GPU in every step."""
    replicas = parse_mesh(options["mesh"]).data if "mesh" in options else options.get("gpus", 1)
    return replicas * options.get("accumulate", 1)


def member(kind: type[E], text: str, what: str) -> E:
    if text not in list(kind):
        raise SetupError(f"{what} must be one of {', '.join(kind)}, got {text!r}.")
    return kind(text)
