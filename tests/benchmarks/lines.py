"""What the compiler's lines cost: a chart of four precisions on three GPU generations, and largest batches.

    python tests/benchmarks/lines.py [MODEL.keras] [--precisions float32,...] [--devices NAME,...]

For each line: compilations, seconds until the first figure and until the line is drawn; then compilations until the
largest batch and the next one are compiled. Nothing is taken from the cache or kept.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from planner_app import data
from planner_app.core.compile.anchoring import settled
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Jit, Precision, Setup
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.traces import TraceCache
from planner_app.planner.lines import Ask
from planner_app.planner.opening import check_model
from planner_app.planner.planner import Planner

PRECISIONS = "float32,mixed_float16,mixed_bfloat16,bfloat16"
DEVICES = "NVIDIA Tesla T4,NVIDIA A100-SXM4-40GB,NVIDIA H100 80GB HBM3"
ABOVE_CAPACITY = 1.6  # as far as the chart's lines go


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default=str(data.FOLDER / "demo.keras"))
    parser.add_argument("--precisions", default=PRECISIONS)
    parser.add_argument("--devices", default=DEVICES)
    given = parser.parse_args()
    began = time.monotonic()
    compilations = 0
    with tempfile.TemporaryDirectory() as folder:
        planner = Planner(check_model(given.model), ask=Ask.NEVER, cache=TraceCache(Path(folder)))
        for device in map(find_device, given.devices.split(",")):
            for precision in map(Precision, given.precisions.split(",")):
                compilations += _line(planner, Setup(batch=32, precision=precision, jit=Jit.ON), device)
    print(f"{compilations} compilations, {time.monotonic() - began:.0f} s in all")


def _line(planner: Planner, setup: Setup, device: Device) -> int:
    need = planner.need(setup, device)
    capacity = need.capacity_bytes or 0
    began = time.monotonic()
    first = 0.0
    for _ in planner.lines.fill(setup, device, need.estimated, int(capacity * ABOVE_CAPACITY)):
        first = first or time.monotonic() - began
    drawn, seconds = len(planner.lines.known(setup, device).anchors), time.monotonic() - began
    began = time.monotonic()
    line = planner.lines.settle(setup, device, need.estimated, capacity)
    found = settled(line, capacity)
    print(
        f"{device.name:24} {setup.precision:15} first figure {first:5.1f} s; line of {drawn} in {seconds:5.1f} s; "
        f"largest batch {found.batch} (does not fit: {found.above}) with {len(line.anchors) - drawn} more in "
        f"{time.monotonic() - began:5.1f} s {line.trouble}",
        flush=True,
    )
    return len(line.anchors)


if __name__ == "__main__":
    main()
