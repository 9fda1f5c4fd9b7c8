"""`plimsoll max-batch MODEL --device "NVIDIA L4"`: the largest batch that fits, estimated or measured (--measured)."""

import time
from argparse import ArgumentParser, Namespace

from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.ask import max_batch_measured, max_batch_sharded
from planner_app.commands.options import arguments
from planner_app.commands.options.planner import (
    DOES_NOT_FIT,
    FITS,
    add_limit,
    add_verdict,
    limit_of,
    planner_of,
)
from planner_app.commands.options.setup import ANY_MESH, add_device, add_setup, add_sharding, device_of, one_each
from planner_app.core.estimate.largest import Largest
from planner_app.core.estimate.level import Source
from planner_app.reports.dicts import largest_dict
from planner_app.units import format_bytes

HELP = "find the largest batch that fits"


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_setup(parser, batch=False)
    add_sharding(parser)
    add_device(parser)
    add_limit(parser)
    add_verdict(parser)
    max_batch_measured.add(parser)
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    if options.measured:
        return max_batch_measured.run(options)
    if options.mesh == ANY_MESH:
        return max_batch_sharded.run(options)
    started = time.monotonic()
    device, limit = device_of(options), limit_of(options)
    setup = one_each(options)
    with terminal.progress() as on_progress:
        found = planner_of(options, on_progress).largest(setup, device, limit, on_progress=on_progress)
    answer = largest_dict(found, sure=options.sure)
    if options.json:
        terminal.write_json(answer | {"seconds": round(time.monotonic() - started, 3)})
    else:
        terminal.output().print(_text(found, sure=options.sure))
    return FITS if answer["batch"] else DOES_NOT_FIT


def _text(found: Largest, *, sure: bool) -> Text:
    limit, peak = format_bytes(found.capacity_bytes), format_bytes(found.level.peak_bytes)
    backend = found.setup.backend.label
    if not found.batch:
        return Text(f"Not even one sample per GPU fits: it needs {peak}, {backend} gets {limit}.", style="red")
    plain = "not bold default"
    counted = found.sure if sure else found.counting_tight
    text = Text(
        f"{counted.batch * found.share}", style="bold green" if counted.batch == found.sure.batch else "bold yellow"
    )
    each = " on each GPU" if found.setup.gpus > 1 else ""
    if sure:
        text.append(" samples per update are sure to fit: even the high end of the band is within ", style=plain)
        text.append(f"the {limit} that {backend} gets{each}", style=plain)
    else:
        text.append(f" samples per update at most: {peak} of {limit} expected{each}", style=plain)
    if found.share > 1:
        text.append(f", {counted.batch} at a time", style=plain)
    faint = "not bold dim default"
    rounded = f"\nas a multiple of 8{each} {counted.multiple_of_8 * found.share}, "
    text.append(f"{rounded}as a power of two {counted.power_of_2 * found.share}", style=faint)
    if counted.bound:
        text.append("\nlarger batches were not tried: memory hardly grows with the batch", style=faint)
    text.append(f"\nfits up to {found.sure_batch}, tight up to {found.batch}", style=faint)
    if found.level.source is Source.COMPILER:
        text.append(
            "\nthese are the compiler's own figures: this batch and the next larger one were compiled", style=faint
        )
    if found.calibrated:
        text.append(f"\n{found.calibrated}", style=faint)
    for warning in found.warnings:
        text.append(f"\n! {warning}", style="not bold yellow")
    return text
