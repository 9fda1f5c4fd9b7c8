"""Measurements: each in a process of its own, and kept, so that a second run measures only what has changed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cases import Case

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
KEPT = ROOT / "build" / "accuracy"
MODEL_CODE = ("zoo.py", "zoo_composed.py")
MEASURING_CODE = ("measure.py", "inline.py", "ordinary.py", "training.py", "allocations.py")
SECONDS = 900  # a measurement that takes longer hangs


@dataclass(frozen=True, slots=True)
class Inline:
    """One process, kernels one after the other: see `inline.py`."""

    live_bytes: int
    live_operation: str
    in_use_bytes: int
    temp_bytes: int
    state_bytes: int
    seconds: float


class Runs:
    """Measures, or remembers having measured."""

    def __init__(self, kept: Path = KEPT) -> None:
        self._kept = kept
        self._models = kept / f"models-{_digest(MODEL_CODE)}"
        self._code = _digest(MEASURING_CODE)

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
        told = self._measured(case, f"inline {number}")
        return Inline(**{key: told[key] for key in Inline.__slots__})

    def ordinary(self, case: Case, number: int = 0) -> list[int]:
        """The allocator's peak in each step of one process."""
        return self._measured(case, f"ordinary {number}", "--ordinary")["peak_bytes"]

    def _measured(self, case: Case, kind: str, *options: str) -> dict[str, Any]:
        file = self._kept / "measured" / f"{self._key(case, kind)}.json"
        if file.exists():
            return json.loads(file.read_text())
        began = time.monotonic()
        told = json.loads(_run("measure.py", *_arguments(self.model_file(case.model), case), *options))
        told |= {"case": str(case), "kind": kind, "seconds": round(time.monotonic() - began, 1)}
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(told))
        unfinished.replace(file)
        return told

    def _key(self, case: Case, kind: str) -> str:
        """Another model under the same name, another way to measure or other libraries: measured anew."""
        with zipfile.ZipFile(self.model_file(case.model)) as archive:
            config = archive.read("config.json")
        libraries = [version(name) for name in ("tensorflow", "keras", "numpy")]
        about = json.dumps([self._code, hashlib.sha256(config).hexdigest(), str(case), kind, *libraries])
        return f"{case.model}-{hashlib.sha256(about.encode()).hexdigest()[:16]}"


def _arguments(file: Path, case: Case) -> list[str]:
    given = {"batch": case.batch, "precision": case.precision, "optimizer": case.optimizer}
    given["accumulate"] = case.accumulate
    return [str(file), *(part for key, value in given.items() for part in (f"--{key}", str(value)))]


def _run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=_environment(), timeout=SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"{script} {' '.join(arguments)} failed:\n{done.stderr[-4000:]}")
    return done.stdout


def _environment() -> Mapping[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}


def _digest(names: Iterable[str]) -> str:
    return hashlib.sha256(b"".join((HERE / name).read_bytes() for name in names)).hexdigest()[:12]
