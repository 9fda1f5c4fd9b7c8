"""`plimsoll max-input MODEL --batch 32 --device "NVIDIA L4"`: the largest images or longest sequences that fit, and
what twice the size would need."""

import time
from argparse import ArgumentParser, Namespace
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.commands.options.planner import DOES_NOT_FIT, add_verdict, planner_of
from planner_app.commands.options.setup import add_device, add_setup, add_sharding, device_of, setup_of
from planner_app.core.estimate.largest_input import Tried
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.model.grow import growths, parse_growth
from planner_app.errors import DeviceError, SetupError
from planner_app.planner.grow import Sensitivity, sensitivity
from planner_app.planner.opening import describe_model
from planner_app.units import format_bytes

HELP = "find the largest input that fits"


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_setup(parser)
    add_sharding(parser)
    add_device(parser)
    parser.add_argument(
        "--grow",
        action="append",
        default=[],
        metavar="INPUT=SIZES",
        help="what grows, marked N, as in image=N,N,3; default: resolution, length or width, depending on the input",
    )
    add_verdict(parser)
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    started = time.monotonic()
    setup, device = setup_of(options), device_of(options)
    if allocator_limit_bytes(device) is None:
        raise DeviceError(
            "The CPU has no memory limit of its own: name a GPU with --device, or set a limit, as in --device cpu:8GiB."
        )
    with terminal.progress() as on_progress:
        planner = planner_of(options, on_progress)
        with planner.workers.worker() as worker:
            inputs = describe_model(planner.model, options.model, dict(setup.sizes), on_progress, worker=worker).inputs
            chosen = (
                (parse_growth(options.grow, inputs, setup.sizes),) if options.grow else growths(inputs, setup.sizes)
            )
            if not chosen:
                raise SetupError("No input of this model has a known size: set one, as in --set image=128,128,3.")
            found = [
                sensitivity(planner, setup, device, growth, worker=worker, sure=options.sure, on_progress=on_progress)
                for growth in chosen
            ]
        planner.tracer.keep()
    if options.json:
        seconds = round(time.monotonic() - started, 3)
        shared = {"device": device.name, "gpus": setup.gpus, "per_gpu_batch": setup.per_gpu_batch, "seconds": seconds}
        terminal.write_json({"ways": [as_json(each) for each in found]} | shared)
    else:
        show(found, device.name, setup.per_gpu_batch, terminal.output())
    return 0 if all(each.largest and each.largest.size for each in found) else DOES_NOT_FIT


def as_json(found: Sensitivity) -> dict[str, Any]:
    growth, largest = found.growth, found.largest
    size = largest.size if largest else 0
    return {
        "what": growth.what,
        "now": {"size": growth.now, "inputs": dict(growth.at(growth.now)), "peak_bytes": found.now.need_bytes},
        "twice": {
            "size": found.twice.size,
            "inputs": dict(growth.at(found.twice.size)),
            "peak_bytes": found.twice.need_bytes,
            "why_not": found.twice.why_not or None,
        },
        "largest": {
            "size": size,
            "inputs": dict(growth.at(size)) if size else None,
            "peak_bytes": largest.need_bytes if largest else None,
            "why_no_more": (largest.why_no_more if largest else "") or None,
        },
        "limit_bytes": found.limit_bytes,
        "step": growth.step,
        "tried": [{"size": each.size, "peak_bytes": each.need_bytes} for each in largest.tried] if largest else [],
    }


def show(found: list[Sensitivity], device: str, per_gpu_batch: int, console: Console) -> None:
    limit = format_bytes(found[0].limit_bytes or 0)
    console.print(Text(f"{per_gpu_batch} samples per GPU; TensorFlow gets {limit} of the {device}\n"))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("what grows")
    table.add_column("inputs", overflow="fold")
    table.add_column("needs", justify="right", no_wrap=True)
    table.add_column("")
    for each in found:
        growth, largest = each.growth, each.largest
        table.add_row(growth.what, growth.text(growth.now), *_need(each.now, each.limit_bytes))
        table.add_row("  twice", growth.text(each.twice.size), *_need(each.twice, each.limit_bytes))
        if largest and largest.size:
            why = f"the largest that fits, in steps of {growth.step}"
            why += f"; larger ones can't be built: {largest.why_no_more}" * bool(largest.why_no_more)
            row = (growth.text(largest.size), format_bytes(largest.need_bytes), why)
            table.add_row("  largest", *row, style="bold green")
        else:
            table.add_row("  largest", "none fits", "", "", style="red")
    console.print(table)
    console.print(Text("\nEstimates: each size was traced, not run.", style="dim"))


def _need(tried: Tried, limit_bytes: int | None) -> tuple[str, str]:
    if tried.need_bytes is None:
        return "-", f"can't be built: {tried.why_not}"
    fits = tried.need_bytes <= (limit_bytes or 0)
    return format_bytes(tried.need_bytes), "fits" if fits else "does not fit"
