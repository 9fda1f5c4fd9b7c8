"""Arguments that say how to train: one setup, on one device."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import Any

from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import OWN, QUANTIZATIONS, Backend, Jit, Precision, Setup, parse_optimizer
from planner_app.core.sharding.mesh import ONE_GPU
from planner_app.errors import SetupError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.layouts import sharding
from planner_app.units import count_of

ANY_MESH = "any"


def add_setup(
    parser: ArgumentParser, *, batch: bool = True, precision: bool = True, gpus: bool = True, accumulate: bool = True
) -> None:
    if batch:
        parser.add_argument(
            "--batch",
            type=positive,
            required=True,
            metavar="N",
            help="samples per update over all GPUs and accumulation steps",
        )
    if precision:
        parser.add_argument(
            "--precision",
            choices=[str(p) for p in Precision],
            default="float32",
            help="Keras dtype policy; default: float32",
        )
    if gpus:
        parser.add_argument("--gpus", type=positive, default=1, metavar="N", help="identical GPUs, data-parallel")
    parser.add_argument(
        "--optimizer",
        default=str(OWN),
        metavar="NAME",
        help='"adam", or with options "sgd:momentum=0.9"; default: own, the one the model was compiled with',
    )
    if accumulate:
        parser.add_argument(
            "--accumulate",
            type=positive,
            default=1,
            metavar="N",
            help="steps over which gradients are accumulated before an update",
        )
    parser.add_argument("--jit", choices=[str(j) for j in Jit], default="auto", help="XLA; auto decides as Keras does")
    parser.add_argument(
        "--loss",
        default="",
        metavar="NAME",
        help='"huber", or with options "huber:delta=2"; default: the one the model was compiled with',
    )
    add_sizes(parser)
    parser.add_argument(
        "--freeze", action="append", default=[], metavar="PATTERN", help="layers to freeze, as in block1_*"
    )
    parser.add_argument(
        "--lora",
        default="",
        metavar="RANK[:PATTERN]",
        help="train low-rank adapters instead of the weights, as in 8 or 8:*query*",
    )
    parser.add_argument("--quantize", default="", metavar="MODE", help=f"weights as {', '.join(QUANTIZATIONS)}")
    parser.add_argument(
        "--remat",
        default="",
        metavar="MODE",
        help="rematerialise: full, activations, larger_than:N or list_of_layers:A+B",
    )


def add_sharding(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--backend",
        choices=[str(backend) for backend in Backend],
        default=str(Backend.TENSORFLOW),
        help="of Keras; default: tensorflow. jax is always compiled by XLA, and can share out weights over GPUs",
    )
    parser.add_argument(
        "--mesh",
        metavar="DATAxMODEL",
        help="GPUs on JAX: shares of the batch and of the model, as in 2x4; max-batch compares all of --gpus with any",
    )
    parser.add_argument(
        "--layout",
        metavar="NAME",
        help="where variables lie on the mesh: data (on every GPU), auto, own (the model's get_layout_map), fsdp (over "
        "all GPUs), or a file of rules; default: auto with --mesh, else data",
    )


def add_sizes(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="INPUT=SIZES",
        help="the size of an input without the batch dimension, as in image=128,128,3",
    )


def add_device(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--device", default="cpu", metavar="NAME", help='a GPU ("NVIDIA L4"), a size (24GiB), or cpu (default)'
    )


def setup_of(
    options: Namespace, *, batch: int | None = None, precision: str | None = None, gpus: int | None = None
) -> Setup:
    return Setup(
        batch=options.batch if batch is None else batch,
        precision=Precision(options.precision if precision is None else precision),
        gpus=options.gpus if gpus is None else gpus,
        accumulate=getattr(options, "accumulate", 1),
        optimizer=parse_optimizer(options.optimizer),
        jit=Jit(options.jit),
        freeze=tuple(options.freeze),
        remat=options.remat,
        sizes=sizes_of(options),
        loss=options.loss,
        lora=options.lora,
        quantize=options.quantize,
        **_sharding_of(options),
    )


def _sharding_of(options: Namespace) -> dict[str, Any]:
    given = {name: getattr(options, name, None) for name in ("mesh", "layout")}
    backend = Backend(getattr(options, "backend", Backend.TENSORFLOW))
    if backend is Backend.TENSORFLOW:
        if any(given.values()):
            name = next(name for name, value in given.items() if value)
            raise SetupError(f"--{name} is for Keras on JAX: add --backend jax.")
        return {}
    return {"backend": backend, **sharding(given["mesh"], given["layout"])}


def one_each(options: Namespace, gpus: int | None = None) -> Setup:
    """The setup with one sample for each share of the batch: the least there is."""
    gpus = gpus or options.gpus
    mesh = _sharding_of(options).get("mesh")
    replicas = gpus if mesh is None or mesh == ONE_GPU else mesh.data
    return setup_of(options, batch=replicas * options.accumulate, gpus=gpus)


def device_of(options: Namespace) -> Device:
    return find_device(options.device)


def positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"{text!r} is not a positive integer")
    return number


def numbers(text: str) -> tuple[int, ...]:
    return tuple(positive(part) for part in names(text))


def names(text: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not found:
        raise ArgumentTypeError(f"{text!r} has an empty entry between commas")
    return found


def precisions(text: str) -> tuple[str, ...]:
    known = [str(precision) for precision in Precision]
    for name in names(text):
        if name not in known:
            raise ArgumentTypeError(f"{name!r} is not a precision: choose from {', '.join(known)}")
    return names(text)


def sizes_of(options: Namespace) -> tuple[tuple[str, tuple[int, ...]], ...]:
    sizes = []
    for text in options.set:
        name, equals, numbers = text.partition("=")
        parts = [part.strip() for part in numbers.split(",") if part.strip()]
        if not equals or not name or not all(map(count_of, parts)):
            raise SetupError(
                f"--set {text}: expected an input and its size without the batch dimension, as in image=128,128,3."
            )
        sizes.append((name, tuple(map(count_of, parts))))
    return tuple(sizes)
