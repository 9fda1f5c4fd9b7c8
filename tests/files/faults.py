"""faults.c, compiled once, and programs that run with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = Path(__file__).with_name("faults.c")
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def compiled(folder: Path) -> Path:
    assert COMPILER is not None
    library = folder / "faults.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-Wall", "-o", library, SOURCE, "-ldl"], check=True)
    return library


def wrong(library: Path, folder: Path, *more: str) -> tuple[list[str], int]:
    """What was wrong after faults in every write there is, and how many there were."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("faulty.py"), folder, *more],
        env={**os.environ, "LD_PRELOAD": str(library), "FAULTS_UNDER": str(folder), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    *lines, cases = done.stdout.splitlines()
    return lines, int(cases)
