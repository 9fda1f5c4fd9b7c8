"""Measurements as `plimsoll measure` makes them, each in a process of its own, and kept, so that none is made twice."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cases import Case
from estimates import setup_of

from planner_app.core.measure.measurement import Order, Place, Run
from planner_app.files.writing import write_atomically
from planner_app.planner.measuring.measure import measure
from planner_app.planner.opening import check_model

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
KEPT = ROOT / "build" / "accuracy"
RESULTS = HERE / "results.json"
MODEL_CODE = ("zoo.py", "zoo_composed.py", "zoo_recent.py")
MEASURED_AS = 1  # counted up by hand when a step is measured in another way: what was kept is measured anew
ADDRESS = re.compile(rb'"shared_object_id": \d+')  # where an object lay in the process that saved the model
SECONDS = 900  # saving the models: longer means it hangs

checked = cache(check_model)


@dataclass(frozen=True, slots=True)
class Inline:
    """One process, kernels one after the other."""

    live_bytes: int
    live_operation: str
    in_use_bytes: int
    temp_bytes: int
    state_bytes: int


class Runs:
    """Measures, or remembers having measured: in the folder `kept`, and in what was written down in `results`."""

    def __init__(self, kept: Path = KEPT, results: Path | None = None) -> None:
        self._kept = kept
        self._models = kept / f"models-{_digest(MODEL_CODE)}"
        self._written = _written_down(results) if results else {}

    def save_models(self, names: Iterable[str]) -> None:
        """The models that are not there yet, all in one process."""
        missing = [name for name in dict.fromkeys(names) if not self.model_file(name).exists()]
        if missing:
            unfinished = self._models / "unfinished"
            _run("zoo.py", str(unfinished), *missing)
            for name in missing:
                (unfinished / f"{name}.keras").rename(self.model_file(name))

    def model_file(self, name: str) -> Path:
        return self._models / f"{name}.keras"

    def inline(self, case: Case, number: int = 0) -> Inline:
        """As on a GPU: `plimsoll measure --inline`."""
        told = self._measured(case, Order.INLINE, number)
        return Inline(**{key: told[key] for key in Inline.__slots__})

    def ordinary(self, case: Case, number: int = 0) -> tuple[int, ...]:
        """The allocator's peak in each step of one process: `plimsoll measure --jit off`."""
        return tuple(self._measured(case, Order.ORDINARY, number)["peaks_bytes"])

    def kept(self, case: Case, order: Order) -> int:
        """How many processes stand in the results."""
        digest = self.digest(case)
        return sum(key[:3] == (digest, str(case), order) for key in self._written)

    def _measured(self, case: Case, order: Order, number: int) -> dict[str, Any]:
        file = self._kept / "measured" / f"{self._key(case, order, number)}.json"
        known = self._written.get((self.digest(case), str(case), order, number))
        if known is not None and not file.exists():
            return known
        if not file.exists():
            about = {"case": str(case), "order": order, "number": number}
            told = about | _figures(_process(self.model_file(case.model), case, order))
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, json.dumps(told).encode())
        return json.loads(file.read_text())

    def digest(self, case: Case) -> str:
        """Another model under the same name, another way to measure or other libraries: measured anew."""
        with zipfile.ZipFile(self.model_file(case.model)) as archive:
            config = hashlib.sha256(ADDRESS.sub(b"", archive.read("config.json"))).hexdigest()
        libraries = [version(name) for name in ("tensorflow", "keras")]
        return hashlib.sha256(json.dumps([MEASURED_AS, config, *libraries]).encode()).hexdigest()[:16]

    def _key(self, case: Case, order: Order, number: int) -> str:
        about = json.dumps([self.digest(case), str(case), order, number])
        return f"{case.model}-{hashlib.sha256(about.encode()).hexdigest()[:16]}"


def _written_down(results: Path) -> dict[tuple[str, str, Order, int], dict[str, Any]]:
    """The measurements that stand in a file of results, under what they were made of."""
    found: dict[tuple[str, str, Order, int], dict[str, Any]] = {}
    for one in json.loads(results.read_text())["cases"]:
        digest, case = one["digest"], str(Case(**one["case"]))
        for number, inline in enumerate(one["inline"]):
            found[digest, case, Order.INLINE, number] = inline
        for number, peaks in enumerate(one["ordinary"]):
            found[digest, case, Order.ORDINARY, number] = {"peaks_bytes": peaks}
    return found


def _process(file: Path, case: Case, order: Order) -> Run:
    """Its steps are as many as the command's: with accumulation an update is among them, and a step after it."""
    found = measure(checked(str(file)), setup_of(case), Place(), order=order)
    if found.ended or found.oom is not None:
        raise RuntimeError(f"{case} was measured in part only: {found.ended or found.oom}")
    return found.runs[0]


def _figures(run: Run) -> dict[str, Any]:
    device = run.devices[0]
    return {
        "live_bytes": run.live_bytes,
        "live_operation": run.live_operation,
        "in_use_bytes": run.peak_bytes(device),
        "temp_bytes": run.temp_bytes,
        "state_bytes": run.state_bytes,
        "peaks_bytes": [memory.peak_bytes for step in run.steps for memory in step.memory],
    }


def _run(script: str, *arguments: str) -> None:
    command = [sys.executable, str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment(), timeout=SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"{script} {' '.join(arguments)} failed:\n{done.stderr[-4000:]}")


def _environment() -> Mapping[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}


def _digest(names: Iterable[str]) -> str:
    return hashlib.sha256(b"".join((HERE / name).read_bytes() for name in names)).hexdigest()[:12]
