"""Out of memory for real, diagnosed, advised and trained again: ResNet50, a transformer, an LSTM and a U-Net.

    python tests/benchmarks/advice.py [NAME ...]

Each model is trained with a limit that it does not fit, on the CPU through the allocator that GPUs use. The doctor
reads TensorFlow's own log; the first three pieces of advice are applied and measured with the same limit.
"""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from planner_app.core.advise import Cost, Option
from planner_app.core.doctor import diagnose
from planner_app.core.hardware.device import cpu_device
from planner_app.core.measure.measurement import Order, Place
from planner_app.core.model.setup import Setup
from planner_app.planner.advise import advice_request
from planner_app.planner.measuring.measure import measure
from planner_app.planner.opening import Opened, open_model
from planner_app.planner.planner import Planner
from planner_app.units import format_bytes

HERE = Path(__file__).parent
ZOO = HERE.parent / "accuracy" / "zoo.py"
TRAIN = HERE.parent / "doctor" / "train.py"
# Large enough that what a kernel takes as scratch on a CPU, whatever the batch, is not most of it.
CASES = {"resnet50": 12, "transformer": 64, "lstm": 256, "unet": 64}
LIMIT = 0.7  # of what the step is expected to need
PIECES = 3
MIB = 1 << 20


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or CASES:
            started = time.monotonic()
            good = check(name, made(name, Path(folder)), CASES[name])
            failed += not good
            print(f"{name}: {'all well' if good else 'FAILED'}, {time.monotonic() - started:.0f} s\n", flush=True)
    return failed


def made(name: str, folder: Path) -> Path:
    file = folder / f"{name}.keras"
    if name == "resnet50":
        code = f"import keras; keras.applications.ResNet50(weights=None).save({str(file)!r})"
        command = [sys.executable, "-c", code]
    else:
        command = [sys.executable, str(ZOO), str(folder), name]
    subprocess.run(command, check=True, capture_output=True)
    return file


def check(name: str, file: Path, batch: int) -> bool:
    opened = open_model(str(file))
    planner = Planner(opened.checked)
    setup = Setup(batch=batch)
    before = planner.estimate(setup, cpu_device())
    limit = int(before.peak_bytes * LIMIT) // MIB * MIB
    print(f"{name}, batch {batch}: {format_bytes(before.peak_bytes)} expected, limit {format_bytes(limit)}", flush=True)
    good = _diagnosed(file, batch, limit, opened)
    advice = planner.advise(advice_request(setup, cpu_device(limit), opened.description))
    if len(advice.options) < PIECES:
        print(f"  only {len(advice.options)} pieces of advice")
        good = False
    for option in advice.options[:PIECES]:
        good &= _holds(option, opened, limit)
    for option in (*advice.options, *advice.helpful):
        if any(change.cost is Cost.REMAT for change in option.changes) and len(option.changes) == 1:
            good &= _remat_saves(option, opened, setup)
            break
    return good


def _diagnosed(file: Path, batch: int, limit: int, opened: Opened) -> bool:
    done = subprocess.run(
        [sys.executable, str(TRAIN), str(file), str(batch), str(limit // MIB)], capture_output=True, check=False
    )
    truth = json.loads(done.stdout.splitlines()[-1])
    layers = [layer.path for layer in opened.description.layers]
    found = diagnose([done.stderr], layers=layers)
    named = found.layer == truth["layer"] and found.operation == truth["operation"]
    print(f"  doctor: {found.verdict}\n  TensorFlow failed in {truth['operation']!r} of layer {truth['layer']!r}")
    return named and found.kind.failed and found.limit_bytes == limit


def _holds(option: Option, opened: Opened, limit: int) -> bool:
    measured = measure(opened.checked, option.setup, Place(limit_bytes=limit), steps=option.setup.accumulate + 2)
    fits = measured.oom is None and not measured.ended
    said = " + ".join(change.cost.name.lower() for change in option.changes)
    peak = measured.peak_bytes or 0
    print(
        f"  {said}: said {format_bytes(option.after_bytes)} (up to {format_bytes(option.high_bytes)}), measured "
        f"{format_bytes(peak)}, {'fits' if fits else f'DOES NOT FIT: {measured.oom or measured.ended}'}",
        flush=True,
    )
    return fits


def _remat_saves(option: Option, opened: Opened, setup: Setup) -> bool:
    """Live bytes, kernels one by one: the same in every process, so that a saving of a tenth can be seen."""
    place = Place(limit_bytes=None)
    live = [
        measure(opened.checked, each, place, order=Order.INLINE).runs[0]
        for each in (setup, replace(setup, remat=option.setup.remat))
    ]
    peaks = [max(memory.peak_bytes for step in run.steps[1:] for memory in step.memory) for run in live]
    saved = peaks[0] - peaks[1]
    share = option.saved_bytes / saved - 1 if saved else float("inf")
    print(
        f"  remat of {len(option.setup.remat.split('+'))} layers: said {format_bytes(option.saved_bytes)} saved, "
        f"measured {format_bytes(saved)} ({share:+.1%})",
        flush=True,
    )
    return abs(share) <= 0.1


if __name__ == "__main__":
    sys.exit(main())
