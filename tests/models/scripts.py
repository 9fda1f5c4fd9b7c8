"""Test tools that run in separate processes, since they import TensorFlow."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = HERE.parent / "tools"
ROOT = HERE.parent.parent
QUIET = {
    **os.environ,
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "-1",
    "KERAS_BACKEND": "tensorflow",
    "PYTHONPATH": str(ROOT),
}


def run_script(script: Path, *arguments: str) -> str:
    """A tool of the tests in a process of its own, since it imports TensorFlow."""
    done = subprocess.run(
        [sys.executable, str(script), *arguments], capture_output=True, text=True, env=QUIET, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
