"""`plimsoll measure MODEL --batch 32 --on gpu:0`: the memory and time of real training steps on this machine."""

from argparse import ArgumentParser, Namespace, _ArgumentGroup
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from planner_app.cli import INTERRUPTED
from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.commands.options.interrupt import interruptible
from planner_app.commands.options.ray import add_ray, measuring, on_cluster
from planner_app.commands.options.setup import add_setup, add_sharding, positive, setup_of
from planner_app.core.measure.measurement import Measurement, Order, Place, parse_place
from planner_app.core.model.setup import Backend
from planner_app.errors import PlannerError, SetupError
from planner_app.files.kept.measurements import check_writable, summary, write_measurement
from planner_app.planner.opening import check_model
from planner_app.reports.measure_table import show
from planner_app.units import parse_bytes

HELP = "run real training steps and measure them"
DOES_NOT_FIT = 3
ERROR = 1


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_setup(parser, gpus=False)
    add_sharding(parser)
    add_place(parser)
    add_ray(parser)
    parser.add_argument(
        "--steps", type=positive, metavar="N", help="steps in each process; default: 5, or 50 to find leaks"
    )
    parser.add_argument(
        "--fits", type=positive, default=0, metavar="N", help="call fit N times instead, to find leaks between calls"
    )
    parser.add_argument(
        "--processes",
        type=positive,
        default=1,
        metavar="N",
        help="repeat in N new processes, since the peak varies between them",
    )
    parser.add_argument("-o", "--output", metavar="FILE.json", help="write the measurement to a file")
    arguments.add_json(parser)


def add_place(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--on",
        default="cpu",
        metavar="PLACE",
        help="gpu:0, several as gpu:0,1, or cpu (default), which uses the same allocator",
    )
    parser.add_argument(
        "--limit", metavar="SIZE", help="the memory that the allocator may take, as in 8GiB, to imitate a GPU"
    )
    parser.add_argument("--gpus", type=positive, metavar="N", help="replicas on the CPU; on GPUs, --on sets the number")
    add_order(parser)


def add_order(parser: ArgumentParser | _ArgumentGroup) -> None:
    parser.add_argument(
        "--inline",
        action="store_true",
        help="on the CPU: run kernels one by one, as on a GPU; the default with --limit",
    )
    parser.add_argument(
        "--threads",
        action="store_true",
        help="on the CPU: run kernels on TensorFlow's threads; the default without --limit",
    )


def order_of(options: Namespace, place: Place, gpus: int) -> Order:
    """A limit on the CPU imitates a GPU: kernels then run in the GPU's order, if possible."""
    if options.inline and options.threads:
        raise SetupError("--inline and --threads can't be combined: choose one of them.")
    whole = options.jit == "on" or options.backend == Backend.JAX
    several = gpus > 1 or bool(getattr(options, "fits", 0)) or whole
    stands_in = place.limit_bytes is not None and not place.on_gpu and not several
    return Order.INLINE if options.inline or (stands_in and not options.threads) else Order.ORDINARY


def place_of(options: Namespace) -> tuple[Place, int]:
    """The place, and the number of devices."""
    place = parse_place(options.on, parse_bytes(options.limit) if options.limit else None)
    gpus = options.gpus or max(1, len(place.gpus))
    if place.on_gpu and gpus != len(place.gpus):
        raise SetupError(
            f"--gpus {gpus} and --on {place} contradict each other: leave out --gpus, since --on names the GPUs."
        )
    return place, gpus


def run(options: Namespace) -> int:
    place, gpus = place_of(options)
    setup = setup_of(options, gpus=gpus)
    output = Path(options.output) if options.output else None
    if output is not None:
        check_writable(output)

    def keep(part: Measurement) -> None:
        if output is not None:
            write_measurement(output, part)

    def keep_part(part: Measurement) -> None:
        with suppress(PlannerError):  # a full disk is reported at the end, after the results
            keep(part)

    with interruptible() as cancelled, terminal.progress() as on_progress, on_cluster(options) as where:
        result = measuring(where)(
            check_model(options.model, options.custom, on_progress, cancelled, trust=options.trust, data=options.data),
            setup,
            place,
            order=order_of(options, place, gpus),
            steps=options.steps,
            fits=options.fits,
            processes=options.processes,
            on_progress=on_progress,
            on_part=keep_part,
            cancelled=cancelled,
        )
    if options.json:
        terminal.write_json(as_json(result))
    else:
        show(result, terminal.output())
    keep(result)
    if cancelled.is_set():
        return INTERRUPTED
    if result.ended:
        return ERROR
    return DOES_NOT_FIT if result.oom is not None else 0


def as_json(result: Measurement) -> dict[str, Any]:
    """The summary and every step of every process; only the file has the timelines."""
    runs = [
        {
            "steps": [_step(step) for step in msgspec.to_builtins(run.steps)],
            "oom": msgspec.to_builtins(run.oom),
            "live_bytes": run.live_bytes,
            "grown": msgspec.to_builtins(run.grown),
            "ended": run.ended,
        }
        for run in result.runs
    ]
    return summary(result) | {"steps": runs[0]["steps"] if runs else [], "runs": runs}


def _step(step: dict[str, Any]) -> dict[str, Any]:
    return step | {"memory": {each.pop("device"): each for each in step["memory"]}}
