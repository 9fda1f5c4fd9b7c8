"""`plimsoll max-batch MODEL --measured --on cpu --limit 8GiB`: the largest batch that fits, found by training steps."""

import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import suppress
from typing import Any

import msgspec
from rich.text import Text

from planner_app.cli import INTERRUPTED
from planner_app.commands import terminal
from planner_app.commands.options.interrupt import interruptible
from planner_app.commands.options.planner import planner_of
from planner_app.commands.options.ray import add_ray, measuring, on_cluster
from planner_app.commands.options.setup import one_each, positive
from planner_app.commands.verify.measure import add_order, order_of
from planner_app.core.estimate.limited import largest_through
from planner_app.core.hardware.device import Device, cpu_device
from planner_app.core.hardware.machine import Gpu, device_of
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.measure.measurable import check_measurable
from planner_app.core.measure.measurement import Place, parse_place
from planner_app.core.measure.search import Found, Try
from planner_app.core.model.setup import Backend, Setup
from planner_app.errors import Cancelled, DeviceError, SetupError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.searches import SearchFile
from planner_app.gpu.nvml import machine_gpus
from planner_app.planner.measuring.search import search
from planner_app.units import format_bytes, parse_bytes

DOES_NOT_FIT = 3


def add(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("measured: real training steps, a new process for each try")
    group.add_argument(
        "--measured", action="store_true", help="run training steps to find the batch, starting from the estimate"
    )
    group.add_argument("--on", default="cpu", metavar="PLACE", help="gpu:0, several as gpu:0,1, or cpu (default)")
    add_order(group)
    group.add_argument("--processes", type=positive, default=1, metavar="N", help="a batch must fit in N processes")
    group.add_argument("--multiple", type=positive, default=1, metavar="N", help="only multiples of N per GPU")
    group.add_argument("--margin", type=_share, default=0.0, metavar="PERCENT", help="share of the limit to leave free")
    add_ray(group)
    group.add_argument("--fresh", action="store_true", help="start over instead of continuing an unfinished search")


def run(options: Namespace) -> int:
    started = time.monotonic()
    place = parse_place(options.on, parse_bytes(options.limit) if options.limit else None)
    gpus = len(place.gpus) if place.on_gpu else options.gpus
    setup = one_each(options, gpus)
    order = order_of(options, place, gpus)
    check_measurable(setup, place, order)
    out = terminal.SafeConsole(stderr=options.json)
    with interruptible() as cancelled, terminal.progress() as on_progress, on_cluster(options) as where:
        device = _device(place, where.gpu(cancelled) if where is not None and place.on_gpu else None)
        limit = place.limit_bytes if place.limit_bytes is not None else allocator_limit_bytes(device)
        if limit is None and setup.backend is Backend.JAX:
            raise SetupError("JAX has no memory limit on the CPU: measure with --on gpu:0, or leave out --measured.")
        if limit is None:
            raise DeviceError("The CPU has no memory limit of its own: set one with --limit 8GiB.")
        planner = planner_of(options, on_progress)
        model = planner.model
        guess = max(1, largest_through(planner.need(setup, device, on_progress=on_progress).memory, limit))
        planner.tracer.keep()
        there = _uuids() if where is None else ["ray", options.kind]
        file = SearchFile(model, setup, place, order, options.processes, options.multiple, options.margin, there)
        if options.fresh:
            file.forget()
        tries = list(file.read())
        if tries:
            out.print(f"continuing an unfinished search with {len(tries)} tries (--fresh starts over)")
            for each in tries:
                out.print(_line(each))

        def keep(tried: Try) -> None:
            tries.append(tried)
            file.keep(tries)
            out.print(_line(tried))

        try:
            found = search(
                model,
                setup,
                place,
                guess,
                order=order,
                processes=options.processes,
                multiple=options.multiple,
                margin=options.margin,
                known=tuple(tries),
                run=measuring(where),
                on_try=keep,
                on_progress=on_progress,
                cancelled=cancelled,
            )
        except Cancelled:
            sys.stderr.write(f"plimsoll: cancelled after {len(tries)} tries; run the same command to continue.\n")
            return INTERRUPTED
    file.forget()
    if options.json:
        terminal.write_json(_answer(found, guess, limit, setup, options, time.monotonic() - started))
    else:
        out.print(_text(found, setup.shares, limit))
    return 0 if found.batch else DOES_NOT_FIT


def _device(place: Place, elsewhere: Gpu | None) -> Device:
    """The device that the first estimate is made for."""
    if not place.on_gpu:
        return cpu_device(place.limit_bytes)
    gpu = elsewhere or _gpu_here(place.gpus[0])
    known = None
    with suppress(DeviceError):
        known = find_device(gpu.name or "")
    return device_of(gpu, known)


def _gpu_here(number: int) -> Gpu:
    machine = machine_gpus()
    if number >= len(machine.gpus):
        raise DeviceError(machine.sentence or f"This machine has no GPU {number}.")
    return machine.gpus[number]


def _uuids() -> list[str | None]:
    return [gpu.uuid for gpu in machine_gpus().gpus]


def _answer(found: Found, guess: int, limit: int, setup: Setup, options: Namespace, seconds: float) -> dict[str, Any]:
    share = setup.shares
    return {
        "batch": found.batch * share,
        "per_gpu_batch": found.batch,
        "exact": found.exact,
        "does_not_fit": None if found.above is None else found.above * share,
        "limit_bytes": limit,
        "estimated_batch": guess * share,
        "multiple": options.multiple,
        "margin": options.margin,
        "on": options.on,
        "gpus": setup.gpus,
        "accumulate": options.accumulate,
        "precision": options.precision,
        "optimizer": options.optimizer,
        "measured": True,
        "tries": msgspec.to_builtins(found.tries),
        "seconds": round(seconds, 3),
    }


def _line(tried: Try) -> Text:
    peak = "" if tried.peak_bytes is None else f", {format_bytes(tried.peak_bytes)} in use"
    text = Text(f"{tried.batch} per GPU: ")
    text.append(*("fits", "green") if tried.fits else ("does not fit", "red"))
    return text.append(f"{peak if tried.fits else f': {tried.reason}'} ({tried.seconds:.0f} s)")


def _text(found: Found, share: int, limit: int) -> Text:
    if not found.batch:
        return Text(f"Not even {found.above or 1} per GPU fit into {format_bytes(limit)}.", style="red")
    text = Text(f"{found.batch * share}", style="bold green")
    text.append(f" samples per update fit into {format_bytes(limit)}, measured", style="not bold default")
    if found.above is None:
        text.append("; larger batches were not tried", style="not bold default")
    elif found.exact:
        text.append(f"; {found.above * share} do not", style="not bold default")
    else:
        text.append(
            f"; {found.above * share} do not; nothing in between was tried: choose another --multiple",
            style="not bold default",
        )
    return text


def _share(text: str) -> float:
    """ "10%", "10" and "0.1" all mean a tenth."""
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        number = -1.0
    if "%" in text or number >= 1:
        number /= 100
    if not 0 <= number < 1:
        raise ArgumentTypeError(f"{text!r} is not a share of the limit: expected a percentage such as 10")
    return number
