"""From words to a setup: the same for the Python API, training scripts and tuners."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TypedDict, TypeVar

from planner_app.core.model.setup import Jit, Precision, Setup, parse_optimizer
from planner_app.errors import SetupError

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


def setup_of(batch: int, options: SetupOptions) -> Setup:
    """
    Raises:
        SetupError: One of the options does not make sense.
    """
    chosen = Setup(
        batch=batch,
        precision=member(Precision, options.get("precision", "float32"), "precision"),
        gpus=options.get("gpus", 1),
        accumulate=options.get("accumulate", 1),
        jit=member(Jit, options.get("jit", "auto"), "jit"),
        freeze=tuple(options.get("freeze", ())),
        remat=options.get("remat", ""),
        sizes=tuple((name, tuple(sizes)) for name, sizes in options.get("sizes", {}).items()),
        loss=options.get("loss", ""),
        lora=options.get("lora", ""),
        quantize=options.get("quantize", ""),
    )
    if "optimizer" not in options:
        return chosen
    return chosen.with_optimizer(parse_optimizer(options["optimizer"]))


def least_batch(options: SetupOptions) -> int:
    """The smallest batch that feeds every GPU in every step."""
    return options.get("gpus", 1) * options.get("accumulate", 1)


def member(kind: type[E], text: str, what: str) -> E:
    if text not in list(kind):
        raise SetupError(f"{what} must be one of {', '.join(kind)}, got {text!r}.")
    return kind(text)
