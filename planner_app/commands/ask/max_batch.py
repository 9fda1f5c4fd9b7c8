"""`plimsoll max-batch MODEL --device "NVIDIA L4"`: the largest batch that fits: solved, or tried out (--measured)."""

import time
from argparse import ArgumentParser, Namespace

from rich.text import Text

from planner_app.commands import terminal
from planner_app.commands.ask import max_batch_measured
from planner_app.commands.options import arguments, calibrated
from planner_app.commands.options.setup import add_device, add_setup, device_of, setup_of
from planner_app.core.estimate.curve import largest_batch
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.measure.calibration import sentence, uncalibrated_limit
from planner_app.errors import DeviceError
from planner_app.planner.opening import check_model
from planner_app.planner.tracer import Tracer
from planner_app.units import format_bytes, parse_bytes

HELP = "find the largest batch that fits"
DOES_NOT_FIT = 3


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_setup(parser, batch=False)
    add_device(parser)
    parser.add_argument(
        "--limit", metavar="SIZE", help="what the allocator may take, as in 8GiB; default: the device's"
    )
    calibrated.add(parser)
    max_batch_measured.add(parser)
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    if options.measured:
        return max_batch_measured.run(options)
    started = time.monotonic()
    device = device_of(options)
    setup = setup_of(options, batch=options.gpus * options.accumulate)
    limit = parse_bytes(options.limit) if options.limit else allocator_limit_bytes(device)
    if limit is None:
        raise DeviceError("The CPU has no limit of its own: give one with --limit 8GiB, or a GPU with --device.")
    with terminal.progress() as on_progress:
        tracer = Tracer(check_model(options.model, options.custom, on_progress))
        memory = tracer.memory(setup.step(device.target), on_progress)
        learnt = calibrated.learnt(options, device, xla=memory.xla)
        if learnt is not None and learnt.limit_bytes is not None and not options.limit:
            limit = learnt.limit_bytes
        room = limit if learnt is None else uncalibrated_limit(limit, learnt)
        found, sure = largest_batch(memory, room), largest_batch(memory, room, surely=True)
        tracer.keep()
    share = options.gpus * options.accumulate
    answer = {
        "batch": found.batch * share,
        "per_gpu_batch": found.batch,
        "multiple_of_8": found.multiple_of_8 * share,
        "power_of_2": found.power_of_2 * share,
        "sure_batch": sure.batch * share,
        "limit_bytes": limit,
        "peak_bytes": round(memory.point(max(found.batch, 1)).in_use_bytes * (learnt.ratio if learnt else 1.0)),
        "device": device.name,
        "gpus": options.gpus,
        "accumulate": options.accumulate,
        "precision": str(setup.precision),
        "optimizer": str(setup.optimizer),
        "jit": memory.xla,
        "calibrated": None if learnt is None else sentence(learnt),
        "seconds": round(time.monotonic() - started, 3),
    }
    if options.json:
        terminal.write_json(answer)
    else:
        terminal.output().print(_text(answer, setup.gpus))
    return 0 if found.batch else DOES_NOT_FIT


def _text(answer: dict[str, object], gpus: int) -> Text:
    limit = format_bytes(int(str(answer["limit_bytes"])))
    peak = format_bytes(int(str(answer["peak_bytes"])))
    if not answer["batch"]:
        return Text(f"Not even one sample on each GPU fits: it needs {peak}, the allocator gets {limit}.", style="red")
    text = Text(f"{answer['batch']}", style="bold green")
    each = " on each GPU" if gpus > 1 else ""
    text.append(f" samples per update fit: {peak} of {limit}{each}", style="not bold default")
    if gpus > 1 or answer["accumulate"] != 1:
        text.append(f", {answer['per_gpu_batch']} at a time", style="not bold default")
    rounded = f"\nas a multiple of 8{each} {answer['multiple_of_8']}, as a power of two {answer['power_of_2']}"
    text.append(rounded, style="not bold dim default")
    text.append(f"\n{answer['sure_batch']} fit even at the high end of the band", style="not bold dim default")
    if answer["calibrated"]:
        text.append(f"\n{answer['calibrated']}", style="not bold dim default")
    return text
