"""The whole chart of ResNet50 against one real first training step of it, in one run on one machine.

    python tests/benchmarks/grid.py

64 batch sizes x 4 precisions x 8 GPU counts x 10 devices, from a cold cache and from a warm one. The chart should take
less time than the first step of `fit` at a batch of 8 does in a fresh process, and less than 0.3 s once it is known.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from planner_app.core.estimate.curve import per_gpu_batches
from planner_app.core.estimate.need import Need
from planner_app.core.hardware.device import Device, cpu_device
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Precision, Setup
from planner_app.core.replay.memory import Memory
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.traces import TraceCache
from planner_app.planner.opening import check_model
from planner_app.planner.tracer import Tracer

BATCHES = tuple(range(8, 520, 8))
PRECISIONS = (Precision.FLOAT32, Precision.MIXED_FLOAT16, Precision.MIXED_BFLOAT16, Precision.FLOAT64)
GPUS = tuple(range(1, 9))
AMPERE = (
    "NVIDIA L4",
    "NVIDIA L40S",
    "NVIDIA A10",
    "NVIDIA A100 SXM4 40GB",
    "NVIDIA A100 SXM4 80GB",
    "NVIDIA H100 SXM5 80GB",
    "NVIDIA GeForce RTX 3090",
    "NVIDIA GeForce RTX 4090",
)
DEVICES = (*AMPERE, "NVIDIA T4", "NVIDIA V100 SXM2 16GB")
SAVE = "import keras, sys; open(sys.argv[1], 'w').write(keras.applications.ResNet50(weights=None).to_json())"
STEP = """
import keras, numpy
model = keras.applications.ResNet50(weights=None)
model.compile("adam", "categorical_crossentropy")
model.train_on_batch(numpy.zeros((8, 224, 224, 3), "float32"), numpy.zeros((8, 1000), "float32"))
"""


def python(code: str, *arguments: str) -> float:
    """The seconds a fresh process takes for it."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def setups(batches: Sequence[int] = BATCHES) -> list[Setup]:
    return [
        Setup(batch=batch, precision=precision, gpus=gpus)
        for precision in PRECISIONS
        for gpus in GPUS
        for batch in batches
    ]


def peaks_on(target: str, tracer: Tracer) -> list[int]:
    """At every point of the chart: a line of it is one precision on so many GPUs."""
    peaks = []
    for first in setups((max(GPUS),)):
        memory = tracer.memory(first.step(target))
        batches = [first.with_batch(batch).per_gpu_batch for batch in BATCHES]
        peaks += [Need(memory, cpu_device()).level_on_line(batch).peak_bytes for batch in batches]
    return peaks


def points(memory: Memory, batches: list[int]) -> None:
    need = Need(memory, cpu_device())
    for batch in batches:
        need.level_on_line(batch)


def chart(model: CheckedModel, folder: Path, devices: list[Device]) -> tuple[int, dict[str, float]]:
    """How many points fit, and the seconds that traces and replays took."""
    tracer = Tracer(model, TraceCache(folder))
    began = time.monotonic()
    wanted = per_gpu_batches(setups(), devices)
    tracer.prepare(wanted, then=lambda memory: points(memory, wanted[memory.setup]))
    traced = time.monotonic()
    peaks = {target: peaks_on(target, tracer) for target in {device.target for device in devices}}
    capacities = [(device.target, allocator_limit_bytes(device) or 0) for device in devices]
    fits = sum(peak <= capacity for target, capacity in capacities for peak in peaks[target])
    replayed = time.monotonic()
    tracer.keep()
    seconds = {"traces": traced - began, "points": replayed - traced, "keeping": time.monotonic() - replayed}
    return fits, seconds | {"whole": time.monotonic() - began, "traces made": len(wanted)}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "resnet50.json")
        python(SAVE, str(path))
        step = python(STEP)
        print(f"first real step at a batch of 8, fresh process: {step:.1f} s", flush=True)
        model = check_model(str(path))
        for name, devices in (("8 devices of one kind", AMPERE), ("10 devices", DEVICES)):
            kept = Path(folder, name)
            found = [find_device(each) for each in devices]
            for state in ("cold", "warm", "warm again"):
                fits, seconds = chart(model, kept, found)
                told = ", ".join(f"{what} {value:.2f}" for what, value in seconds.items())
                points = len(setups()) * len(devices)
                print(f"{name}, {state}: {points} points, {fits} fit: {told}: {seconds['whole'] / step:.2f} x the step")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
