"""The stand-in for NVIDIA's library, compiled once, and programs that find it instead of the real one."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).with_name("nvml_standin.c")
ROOT = Path(__file__).parents[2]
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


class Standin:
    """A machine with the GPUs that `says` describes; see the head of nvml_standin.c."""

    def __init__(self, folder: Path) -> None:
        assert COMPILER is not None
        self.folder = folder
        self.file = folder / "machine.txt"
        self.file.touch()
        library = folder / "libnvidia-ml.so.1"
        named = f'-DMACHINE_FILE="{self.file}"'
        subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-Wall", named, "-o", library, SOURCE], check=True)

    def says(self, *lines: str) -> None:
        """Takes the place of what was said before: a program that runs sees it at its next question."""
        fresh = self.file.with_suffix(".new")
        fresh.write_text("\n".join(lines) + "\n")
        fresh.replace(self.file)

    @property
    def environment(self) -> Mapping[str, str]:
        return {"LD_LIBRARY_PATH": str(self.folder), "NVML_STANDIN": str(self.file)}

    def run(self, code: str, **more: str) -> str:
        """What a Python program prints on this machine."""
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **self.environment, "PYTHONPATH": str(ROOT), **more},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout
