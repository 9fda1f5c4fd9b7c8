"""Runs training scripts in child processes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SECONDS = 900  # a bound against hanging; on a machine of its own it is a minute
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}


def start(script: str, environment: dict[str, str] | None = None, **given: Any) -> subprocess.Popen[str]:
    command = [sys.executable, str(HERE / "training_scripts.py"), script, json.dumps(given)]
    return subprocess.Popen(
        command,
        env=clean() | QUIET | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def words(child: subprocess.Popen[str]) -> tuple[str, str]:
    """What it says until its end; it does not outlive its time."""
    try:
        return child.communicate(timeout=SECONDS)
    finally:
        child.kill()


def finish(child: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = words(child)
    lines = [line for line in out.splitlines() if line.startswith("ANSWER ")]
    assert child.returncode == 0 and lines, f"{err[-3000:]}\n{out[-1000:]}"
    return json.loads(lines[-1].removeprefix("ANSWER "))


def run(script: str, environment: dict[str, str] | None = None, **given: Any) -> dict[str, Any]:
    return finish(start(script, environment, **given))


def clean() -> dict[str, str]:
    """The environment without what another test's TensorFlow may have set."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "KERAS_", "XLA_"))}
