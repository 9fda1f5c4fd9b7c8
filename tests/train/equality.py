"""Runs the matrix in child processes, and says how far each way to train is from Keras' own fit: `make equality`."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from case_results import CaseResults, results
from children import HERE, QUIET, clean, words
from matrix import BATCH, CASES
from planning import cpu_entry, plan
from ports import free_ports

from planner_app.files.plans import write_plan

CLOSE, METRICS = 1e-5, 1e-6
AT_ONCE = 4  # cases in a process: starting TensorFlow takes as long as one
# name: devices, steps for each update
WAYS = {"1 device, 4 steps": (1, 4), "2 devices, 4 steps": (2, 4), "2 devices at once": (2, 1)}
HOSTS = "2 hosts, 4 steps"


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

    @property
    def is_close(self) -> bool:
        return self.state <= CLOSE and self.metrics <= METRICS and self.updates == 0


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


def on_hosts(folder: Path, cases: Iterable[str]) -> dict[str, Any]:
    """What two hosts train together. Both must say the same."""
    addresses = tuple(f"127.0.0.1:{port}" for port in free_ports(2))
    plans = {HOSTS: written(folder, "hosts", 2, 4, addresses)}
    children = [started(folder, cases, plans, worker) for worker in (0, 1)]
    first, second = (finished(*child) for child in children)
    assert first == second
    return first


def main() -> int:
    kept = CaseResults("equality", "matrix.py")
    left = kept.left(sys.argv[1:] or list(CASES))
    sys.stdout.write("How far training under a plan is from Keras' fit: weights and state, metrics\n")
    for start in range(0, len(left), AT_ONCE):
        cases = left[start : start + AT_ONCE]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            plans = {way: written(folder, f"way{n}", *WAYS[way]) for n, way in enumerate(WAYS)}
            found = finished(*started(folder, cases, plans))
            hosts = on_hosts(folder, cases)
        for case in cases:
            answers = found[case] | hosts[case]
            far = {way: difference(answers["keras"], answers[way]) for way in (*WAYS, HOSTS)}
            kept.add(case, {way: asdict(each) for way, each in far.items()})
            for way, each in far.items():
                sys.stdout.write(f"{case:26}{way:22}{each.state:9.1e}{each.metrics:9.1e} {each.error[:300]}\n")
            sys.stdout.flush()
    ways = [Difference(**each) for row in results("equality", list(CASES)).values() for each in row.values()]
    bad = sum(not each.is_close for each in ways)
    sys.stdout.write(f"{len(ways)} ways, {bad} too far; worst {max(w.state for w in ways):.1e}\n")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
