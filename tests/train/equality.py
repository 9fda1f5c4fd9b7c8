"""Runs the matrix in child processes, and says how far each way to train is from Keras' own fit."""

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from children import HERE, QUIET, clean, words
from matrix import BATCH
from planning import cpu_entry, plan

from planner_app.files.plans import write_plan


@dataclass(frozen=True, slots=True)
class Difference:
    """Between Keras' fit and a plan's: weights and optimizer state, and the history's metrics relative to their size.

    Attributes:
        error: What went wrong instead.
    """

    state: float
    metrics: float
    updates: int
    error: str = ""


def written(folder: Path, name: str, devices: int, steps: int, hosts: tuple[str, ...] = ()) -> str:
    path = folder / f"{name}.json"
    write_plan(path, plan(BATCH, cpu_entry(BATCH, devices, steps), hosts=hosts))
    return str(path)


def started(
    folder: Path, cases: Iterable[str], plans: dict[str, str], worker: int | None = None
) -> tuple[subprocess.Popen[str], Path]:
    request, answer = folder / f"request{worker}.json", folder / f"answer{worker}.json"
    request.write_text(json.dumps({"cases": list(cases), "plans": plans, "worker": worker}))
    command = [sys.executable, str(HERE / "matrix.py"), str(request), str(answer)]
    child = subprocess.Popen(command, env=clean() | QUIET, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return child, answer


def finished(child: subprocess.Popen[str], answer: Path) -> dict[str, Any]:
    out, err = words(child)
    assert child.returncode == 0, f"{err[-3000:]}\n{out[-1000:]}"
    return json.loads(answer.read_text())


def difference(keras: dict[str, Any], found: dict[str, Any]) -> Difference:
    if "error" in found:
        return Difference(float("inf"), float("inf"), 0, found["error"])
    pairs = zip(keras["state"], found["state"], strict=True)
    state = max(float(np.abs(np.array(a[1], "float64") - np.array(b[1], "float64")).max()) for a, b in pairs)
    assert set(keras["history"]) == set(found["history"])
    metrics = max(_relative(values, found["history"][name]) for name, values in keras["history"].items())
    return Difference(state, metrics, found["updates"] - keras["updates"])


def _relative(expected: list[float], found: list[float]) -> float:
    a, b = np.array(expected, "float64"), np.array(found, "float64")
    return float((np.abs(a - b) / np.maximum(np.abs(a), 1)).max())


if __name__ == "__main__":
    import tempfile

    from matrix import CASES
    from ports import free_ports

    sys.stdout.write("How far training under a plan is from Keras' fit: weights and state, metrics\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plans = {
            "1 device, 4 steps": written(folder, "one", 1, 4),
            "2 devices, 2 steps": written(folder, "two", 2, 2),
            "2 devices at once": written(folder, "once", 2, 1),
        }
        found = finished(*started(folder, CASES, plans))
        addresses = tuple(f"127.0.0.1:{port}" for port in free_ports(2))
        hosts = {"2 hosts, 2 steps": written(folder, "hosts", 2, 2, addresses)}
        children = [started(folder, CASES, hosts, worker) for worker in (0, 1)]
        for case, answer in finished(*children[0]).items():
            found[case].update(answer)
        finished(*children[1])
        worst = 0.0
        for case, ways in found.items():
            for way in [*plans, *hosts]:
                far = difference(ways["keras"], ways[way])
                worst = max(worst, far.state)
                sys.stdout.write(f"{case:26}{way:22}{far.state:9.1e}{far.metrics:9.1e} {far.error[:100]}\n")
        sys.stdout.write(f"worst {worst:.1e}\n")
        sys.exit(worst > 1e-5)
