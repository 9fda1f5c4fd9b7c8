"""Runs `disturbed.py` under `plimsoll run`, undisturbed and disturbed in every way: `make disturbances`."""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from case_results import CaseResults, results
from children import HERE, QUIET, clean, words
from planning import cpu_entry, plan
from ports import free_ports

from planner_app.files.plans import write_plan

BATCH = 1024
CLOSE = 1e-4
LIMIT = {"TF_CPU_BFC_MEM_LIMIT_IN_MB": "60"}
PLIMSOLL = [sys.executable, "-m", "planner_app"]
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What happens to a run, and how it must end.

    Attributes:
        ends: Of the processes that are started, one after the other.
        at: The epoch, and the batch after which it happens; or "first" for before the first, or "validation".
        how: "fill" the memory or "kill" the process; "" for nothing.
        left_bytes: What "fill" leaves: less than a step of the first rung takes, more than one of the second.
        host: Which of two it happens to; None without hosts.
    """

    jit: bool
    ends: tuple[str, ...]
    at: tuple[int, int | str] | None = None
    how: str = ""
    options: tuple[str, ...] = ()
    left_bytes: int = 3 * MIB
    host: int | None = None


AGAIN, SAME, KILLED = ("memory", "finished"), ("finished",), ("killed", "finished")
BEFORE_STATE = 7 * MIB  # before the first step, the optimizer's state and the sums of gradients are not there yet
HALF_OF_IT = 4 * MIB  # on each of two hosts, which take half a batch; the process that is started again has all
CASES = {
    "undisturbed": Disturbance(True, SAME),
    "undisturbed, plain": Disturbance(False, SAME),
    "XLA, first step": Disturbance(True, SAME, (0, "first"), "fill", left_bytes=BEFORE_STATE),
    "XLA, in the middle": Disturbance(True, AGAIN, (0, 2), "fill", ("--every", "2")),
    "XLA, in validation": Disturbance(True, AGAIN, (1, "validation"), "fill"),
    "XLA, second epoch": Disturbance(True, AGAIN, (1, 3), "fill"),
    "XLA, killed": Disturbance(True, KILLED, (2, 4), "kill"),
    "plain, first step": Disturbance(False, SAME, (0, "first"), "fill", left_bytes=BEFORE_STATE),
    "plain, in the middle": Disturbance(False, SAME, (0, 2), "fill"),
    "plain, in validation": Disturbance(False, SAME, (1, "validation"), "fill"),
    "plain, second epoch": Disturbance(False, SAME, (1, 3), "fill"),
    "killed": Disturbance(False, KILLED, (1, 3), "kill", ("--every", "2")),
    "two hosts, second epoch": Disturbance(False, AGAIN, (1, 3), "fill", host=1),
    "two hosts, first step": Disturbance(False, AGAIN, (0, "first"), "fill", left_bytes=HALF_OF_IT, host=0),
    "two hosts, killed": Disturbance(False, KILLED, (1, 2), "kill", ("--every", "2"), host=1),
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
    case = CASES[name]
    path = folder / f"{_plain(name)}.plan.json"
    entry = cpu_entry(BATCH, max(1, len(hosts)), 1, 8, 16)
    rungs = tuple(replace(rung, jit=case.jit) for rung in entry.rungs)
    write_plan(path, plan(BATCH, replace(entry, rungs=rungs), hosts=hosts))
    out = folder / f"{_plain(name)}{'' if worker is None else worker}.npz"
    more = () if worker is None else ("--worker", str(worker), "--port", str(port))
    folder_of_run = ("--folder", str(folder / f"{_plain(name)}.run"))
    command = [*PLIMSOLL, "run", "--plan", str(path), *folder_of_run, *case.options, *more]
    told = {"at": case.at, "how": case.how, "host": case.host, "left_bytes": case.left_bytes}
    return subprocess.Popen(
        [*command, str(HERE / "disturbed.py"), str(out), json.dumps(told)],
        env=clean() | QUIET | (LIMIT if case.how == "fill" else {}),
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


def run(folder: Path, name: str) -> list[Outcome]:
    """One case to its end, on one host or on two."""
    if CASES[name].host is None:
        return [finished(folder, name, started(folder, name))]
    ports = free_ports(3)
    hosts = tuple(f"127.0.0.1:{port}" for port in ports[:2])
    children = [started(folder, name, hosts, worker, ports[2]) for worker in (0, 1)]
    return [finished(folder, name, child, worker) for worker, child in enumerate(children)]


def far(left: Outcome, right: Outcome) -> float:
    pairs = zip(left.state, right.state, strict=True)
    return max(float(np.abs(a.astype("float64") - b).max()) for a, b in pairs)


def wrong(case: str, calm: Outcome, found: Outcome) -> list[str]:
    """What differs from the undisturbed run, and should not."""
    said = [
        f"{name}: {found.said[name]} instead of {calm.said[name]}"
        for name in ("updates", "epochs")
        if found.said[name] != calm.said[name]
    ]
    if far(calm, found) > CLOSE:
        said.append(f"weights and state differ by {far(calm, found):.1e}")
    for name, values in calm.said["history"].items():
        close = 0 if name.endswith("samples") else CLOSE
        if not np.allclose(found.said["history"][name], values, rtol=close, atol=0):
            said.append(f"{name}: {found.said['history'][name]} instead of {values}")
    ends = tuple(each["end"] for each in found.report["tries"])
    if ends != CASES[case].ends:
        said.append(f"ended {', '.join(ends)} instead of {', '.join(CASES[case].ends)}")
    if not _follows(found):
        said.append(f"updates were trained in this order: {found.updates}")
    return said


def _follows(found: Outcome) -> bool:
    """Every process goes on after the checkpoint that it was started from, and trains each update once."""
    processes = list(dict.fromkeys(process for process, _ in found.updates))
    starts = [0, *(each["updates"] or 0 for each in found.report["tries"])]
    for process, start in zip(processes, starts, strict=False):
        mine = [update for each, update in found.updates if each == process]
        if mine != list(range(start + 1, start + 1 + len(mine))):
            return False
    return True


def _plain(name: str) -> str:
    return name.replace(" ", "-").replace(",", "")


def main() -> int:
    kept = CaseResults("disturbances", "disturbed.py")
    left = kept.left(sys.argv[1:] or list(CASES))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        calm = finished(folder, "undisturbed", started(folder, "undisturbed")) if left else None
        for case in left:
            assert calm is not None
            outcomes = run(folder, case) if case != "undisturbed" else [calm]
            said = [each for outcome in outcomes for each in wrong(case, calm, outcome)]
            row = {
                "state": max(far(calm, outcome) for outcome in outcomes),
                "ends": list(CASES[case].ends),
                "updates": outcomes[0].said["updates"],
                "samples": int(sum(outcomes[0].said["history"]["samples"])),
                "rung": outcomes[0].said["rung"],
                "wrong": said,
            }
            kept.add(case, row)
            sys.stdout.write(f"{case:26}{row['state']:9.1e} {row['updates']} updates, {'; '.join(said) or 'same'}\n")
            sys.stdout.flush()
    rows = results("disturbances", list(CASES)).values()
    bad = sum(bool(row["wrong"]) for row in rows)
    sys.stdout.write(f"{len(rows)} runs, {bad} wrong\n")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
