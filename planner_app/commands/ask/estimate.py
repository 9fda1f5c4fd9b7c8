"""`plimsoll estimate MODEL --batch 32 --device "NVIDIA L4"`: how much memory one setup needs, of what and whose."""

import time
from argparse import ArgumentParser, Namespace
from typing import Any

import msgspec

from planner_app.commands import terminal
from planner_app.commands.options import arguments, calibrated
from planner_app.commands.options.setup import add_device, add_setup, device_of, setup_of
from planner_app.core.estimate.estimate import Estimate, estimate
from planner_app.core.measure import calibration as calibrate
from planner_app.planner.opening import check_model
from planner_app.planner.tracer import Tracer
from planner_app.reports.estimate_table import show

HELP = "estimate the memory of one way to train"
DOES_NOT_FIT = 3


def add(parser: ArgumentParser) -> None:
    arguments.add_model(parser)
    add_setup(parser)
    add_device(parser)
    calibrated.add(parser)
    arguments.add_json(parser)


def run(options: Namespace) -> int:
    started = time.monotonic()
    setup, device = setup_of(options), device_of(options)
    with terminal.progress() as on_progress:
        tracer = Tracer(check_model(options.model, options.custom, on_progress))
        result = estimate(tracer.memory(setup.step(device.target), on_progress), setup, device)
        tracer.keep()
    if (learnt := calibrated.learnt(options, device, xla=result.xla)) is not None:
        result = calibrate.calibrated(result, learnt)
    if options.json:
        terminal.write_json(as_json(result) | {"seconds": round(time.monotonic() - started, 3)})
    else:
        show(result, terminal.output())
    return DOES_NOT_FIT if result.fits is False else 0


def as_json(result: Estimate) -> dict[str, Any]:
    setup = result.setup
    return {
        "batch": setup.batch,
        "per_gpu_batch": setup.per_gpu_batch,
        "precision": str(setup.precision),
        "optimizer": str(setup.optimizer),
        "gpus": setup.gpus,
        "accumulate": setup.accumulate,
        "jit": result.xla,
        "device": result.device,
        "peak_bytes": result.peak_bytes,
        "low_bytes": result.low_bytes,
        "high_bytes": result.high_bytes,
        "live_bytes": result.live_bytes,
        "temp_bytes": result.temp_bytes,
        "state_bytes": result.state_bytes,
        "device_bytes": result.device_bytes,
        "capacity_bytes": result.capacity_bytes,
        "fits": result.fits,
        "breakdown": dict(result.breakdown),
        "peak": {"operation": result.peak_operation, "layer": result.peak_layer, "phase": result.peak_phase},
        "held": msgspec.to_builtins(result.held),
        "layers": msgspec.to_builtins(result.layers),
        "warnings": list(result.warnings),
    }
