"""`plimsoll compile MODEL --device "NVIDIA L4" --batch 32`: how much memory XLA itself reports for that GPU."""

import time
from argparse import ArgumentParser, Namespace
from typing import Any

import msgspec

from planner_app.commands import terminal
from planner_app.commands.options import arguments
from planner_app.commands.options.interrupt import interruptible
from planner_app.commands.options.ray import add_address, tell
from planner_app.commands.options.setup import add_setup, add_sharding, numbers, precisions, setup_of
from planner_app.core.compile.check import CompileCheck
from planner_app.core.hardware.device import Device
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup
from planner_app.files.devices.catalogue import find_device
from planner_app.fleet.cluster import Cluster
from planner_app.planner.compile import OnProgress, compile_checks
from planner_app.planner.fleet.tracing import compile_on
from planner_app.planner.opening import check_model
from planner_app.reports.compile_table import show
from planner_app.reports.dicts import on_jax

HELP = "compile the step for a GPU you don't own, and show its memory"
DOES_NOT_FIT = 3


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    parser.add_argument(
        "--device",
        action="append",
        required=True,
        metavar="NAME",
        help='a GPU ("NVIDIA L4"), or a size and a compute capability (24GiB:8.9); repeatable',
    )
    parser.add_argument("--batch", type=numbers, required=True, metavar="N,...", help="samples per update; one or more")
    parser.add_argument(
        "--precision",
        type=precisions,
        default=("float32",),
        metavar="NAME,...",
        help="Keras dtype policies; default: float32",
    )
    add_setup(parser, batch=False, precision=False)
    add_sharding(parser)
    add_address(parser)
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    started = time.monotonic()
    devices = [find_device(name) for name in options.device]
    setups = [
        setup_of(options, batch=batch, precision=precision)
        for precision in dict.fromkeys(options.precision)
        for batch in dict.fromkeys(options.batch)
    ]
    with terminal.progress() as on_progress:
        model = check_model(options.model, options.custom, on_progress, trust=options.trust, data=options.data)
        if options.ray is None:
            checks = list(compile_checks(model, setups, devices, on_progress))
        else:
            checks = _on_cluster(options.ray, model, setups, devices, on_progress)
    if options.json:
        seconds = round(time.monotonic() - started, 3)
        terminal.write_json({"checks": [as_json(check) for check in checks], "seconds": seconds})
    else:
        show(checks, terminal.output())
    return DOES_NOT_FIT if any(check.fits is False for check in checks) else 0


def _on_cluster(
    address: str, model: CheckedModel, setups: list[Setup], devices: list[Device], on_progress: OnProgress
) -> list[CompileCheck]:
    with interruptible() as cancelled, Cluster(address) as cluster:
        return compile_on(cluster, model, setups, devices, on_note=tell, on_progress=on_progress, cancelled=cancelled)


def as_json(check: CompileCheck) -> dict[str, Any]:
    setup, compiled = check.setup, check.compiled
    return {
        "source": "compile",
        "batch": setup.batch,
        "per_gpu_batch": setup.per_gpu_batch,
        "precision": str(setup.precision),
        "optimizer": str(setup.optimizer),
        "accumulate": setup.accumulate,
        "device": check.device,
        **on_jax(setup),
        "total_bytes": check.total_bytes,
        "argument_bytes": compiled.argument_bytes,
        "output_bytes": compiled.output_bytes,
        "alias_bytes": compiled.alias_bytes,
        "temp_bytes": compiled.temp_bytes,
        "travel_bytes": compiled.travel_bytes,
        "peak_bytes": compiled.peak_bytes,
        "capacity_bytes": check.capacity_bytes,
        "fits": check.fits,
        "buffers": msgspec.to_builtins(compiled.buffers),
        "target": msgspec.to_builtins(check.target),
        "program": check.program,
        "versions": dict(check.versions),
        "warnings": list(check.warnings),
        "cached": check.cached,
        "seconds": compiled.seconds,
    }
