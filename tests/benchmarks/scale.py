"""How the cost of an estimate grows with layers: transformers of width 8192 with 10, 20, 40 and 80 blocks.

    python tests/benchmarks/scale.py [TARGET ...]

Each is traced by a real worker, from a configuration without weights, then estimated at a batch of 8. 80 blocks have 65
billion parameters and should stay below 2 GiB; from one line to the next, time and memory should at most double.
"""

import json
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from describe_scale import BLOCKS, Watched, transformer

from planner_app.core.model.setup import StepSetup
from planner_app.core.model.trace import Role, StepTrace
from planner_app.core.replay.memory import Memory
from planner_app.jobs.job import Job, result_of
from planner_app.jobs.protocol import Trace
from planner_app.planner.opening import check_model
from planner_app.planner.tracer import trace_limits

TARGETS = ("gpu:8.0", "xla", "cpu")
LENGTH, BATCH = 128, 8


def setup_for(target: str) -> StepSetup:
    xla = target == "xla"
    return StepSetup(
        target="gpu:8.0" if xla else target,
        xla=xla,
        sizes=(("tokens", (LENGTH,)),),
        loss="sparse_categorical_crossentropy",
    )


def written(blocks: int, folder: Path) -> Path:
    path = folder / f"{blocks}.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(transformer(blocks)))
    return path


def traced(path: Path, setup: StepSetup) -> tuple[StepTrace, float, int]:
    """The trace, the seconds it took and the most memory the worker held."""
    began, keeper = time.monotonic(), Watched()
    checked = check_model(str(path))
    job = Job(Trace(model=checked, setup=setup), trace_limits(checked), keeper=keeper)
    trace = result_of(job, StepTrace)
    return trace, time.monotonic() - began, keeper.child.memory.peak_bytes


def parameters(trace: StepTrace) -> float:
    return sum(trace.sizes[v.size].at(BATCH) for v in trace.variables if v.role is Role.WEIGHT) / 4


def main() -> None:
    head = f"{'target':>8} {'blocks':>6} {'parameters':>12} {'operations':>11} {'trace s':>8} {'worker MiB':>11}"
    print(f"{head} {'replay s':>9} {'trace x':>8} {'memory x':>9} {'replay x':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for target in sys.argv[1:] or TARGETS:
            last = None
            for blocks in BLOCKS:
                setup = setup_for(target)
                trace, seconds, peak = traced(written(blocks, Path(folder)), setup)
                began = time.monotonic()
                Memory(trace, setup).point(BATCH)
                replay = time.monotonic() - began
                now = (seconds, peak, replay)
                growth = "".join(f"{new / old:>9.2f}" for new, old in zip(now, last or now, strict=True))
                print(
                    f"{target:>8} {blocks:>6} {parameters(trace) / 1e9:>10.1f} G {len(trace.operations):>11} "
                    f"{seconds:>8.1f} {peak / 2**20:>11.0f} {replay:>9.2f} {growth}",
                    flush=True,
                )
                last = now


if __name__ == "__main__":
    main()
