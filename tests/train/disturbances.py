"""Runs `disturbed.py` under `plimsoll run`, undisturbed and disturbed in every way, and says what came of it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from children import HERE, QUIET, clean, words
from planning import cpu_entry, plan
from ports import free_ports

from planner_app.files.plans import write_plan

BATCH = 1024
LIMIT = {"TF_CPU_BFC_MEM_LIMIT_IN_MB": "60"}
PLIMSOLL = [sys.executable, "-m", "planner_app"]
# name: compiled by XLA, disturbed where and how, options of plimsoll run
CASES: dict[str, tuple[bool, dict[str, Any], tuple[str, ...]]] = {
    "undisturbed": (True, {"at": None, "how": ""}, ()),
    "XLA, in the middle": (True, {"at": [0, 2], "how": "fill"}, ("--every", "2")),
    "XLA, second epoch": (True, {"at": [1, 3], "how": "fill"}, ()),
    "XLA, in validation": (True, {"at": [1, "validation"], "how": "fill"}, ()),
    "plain, in the middle": (False, {"at": [0, 2], "how": "fill"}, ()),
    "plain, second epoch": (False, {"at": [1, 3], "how": "fill"}, ()),
    "plain, in validation": (False, {"at": [1, "validation"], "how": "fill"}, ()),
    "killed": (False, {"at": [1, 3], "how": "kill"}, ("--every", "2")),
    "XLA, killed": (True, {"at": [2, 4], "how": "kill"}, ()),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Attributes:
    state: Weights and optimizer state.
    said: What the script says at its end: history, updates, rung.
    report: run.json.
    updates: The number of each update in the order of training, of the process that trained it.
    """

    state: list[Any]
    said: dict[str, Any]
    report: dict[str, Any]
    updates: list[tuple[int, int]]


def started(
    folder: Path, name: str, hosts: tuple[str, ...] = (), worker: int | None = None, port: int | None = None
) -> subprocess.Popen[str]:
    jit, told, options = CASES[name] if not hosts else (False, {"at": [1, 3], "how": "fill", "host": 1}, ())
    path = folder / f"{_plain(name)}.plan.json"
    entry = cpu_entry(BATCH, max(1, len(hosts)), 1, 8, 16)
    rungs = tuple(replace(rung, jit=jit) for rung in entry.rungs)
    write_plan(path, plan(BATCH, replace(entry, rungs=rungs), hosts=hosts))
    out = folder / f"{_plain(name)}{'' if worker is None else worker}.npz"
    more = () if worker is None else ("--worker", str(worker), "--port", str(port))
    folder_of_run = ("--folder", str(folder / f"{_plain(name)}.run"))
    command = [*PLIMSOLL, "run", "--plan", str(path), *folder_of_run, *options, *more]
    return subprocess.Popen(
        [*command, str(HERE / "disturbed.py"), str(out), json.dumps(told)],
        env=clean() | QUIET | (LIMIT if told["how"] == "fill" else {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )


def finished(folder: Path, name: str, child: subprocess.Popen[str], worker: int | None = None) -> Outcome:
    out, err = words(child)
    assert child.returncode == 0, f"{name}: {child.returncode}\n{err[-4000:]}\n{out[-1000:]}"
    stem = folder / f"{_plain(name)}{'' if worker is None else worker}"
    run = folder / f"{_plain(name)}.run" / ("" if worker is None else f"host-{worker}")
    with np.load(stem.with_suffix(".npz")) as saved:
        state = [saved[key] for key in saved.files]
    lines = [line.split() for line in stem.with_suffix(".log").read_text().splitlines()]
    return Outcome(
        state,
        json.loads(stem.with_suffix(".json").read_text()),
        json.loads((run / "run.json").read_text()),
        [(int(process), int(update)) for process, update in lines],
    )


def on_two_hosts(folder: Path) -> list[Outcome]:
    ports = free_ports(3)
    hosts = tuple(f"127.0.0.1:{port}" for port in ports[:2])
    children = [started(folder, "hosts", hosts, worker, ports[2]) for worker in (0, 1)]
    return [finished(folder, "hosts", child, worker) for worker, child in enumerate(children)]


def far(left: Outcome, right: Outcome) -> float:
    pairs = zip(left.state, right.state, strict=True)
    return max(float(np.abs(a.astype("float64") - b).max()) for a, b in pairs)


def _plain(name: str) -> str:
    return name.replace(" ", "-").replace(",", "")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        there = Path(place)
        os.chdir(there)
        calm = finished(there, "undisturbed", started(there, "undisturbed"))
        for case in CASES:
            if case != "undisturbed":
                found = finished(there, case, started(there, case))
                ends = [each["end"] for each in found.report["tries"]]
                same = found.said["updates"] == calm.said["updates"]
                sys.stdout.write(f"{case:24}{far(calm, found):9.1e} updates {'same' if same else 'DIFFER'} {ends}\n")
        for found in on_two_hosts(there):
            ends = [each["end"] for each in found.report["tries"]]
            sys.stdout.write(f"{'two hosts':24}{far(calm, found):9.1e} updates {found.said['updates']} {ends}\n")
