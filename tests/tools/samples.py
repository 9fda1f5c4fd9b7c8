"""Runs the commands that README and guide show, and says where they print something else: `make samples`.

A sample is a line `$ plimsoll ...` and what follows it, indented; `...` stands for lines that are left out. What was
measured differs every time: such a command must run, and is not compared. Beside each command lie the demo model, the
examples and a ResNet50.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "planner_app" / "data" / "demo.keras"
TEXTS = (ROOT / "README.md", *sorted((ROOT / "planner_app" / "data" / "guide").glob("*.md")))
INDENT = "    "
LEFT_OUT = "..."
MEASURED = ("measure", "calibrate")
WIDTH = 100
RESNET = """
import keras
model = keras.applications.ResNet50(weights=None)
model.compile("sgd", "sparse_categorical_crossentropy")
model.save("resnet50.keras")
"""


@dataclass(frozen=True, slots=True)
class Sample:
    file: Path
    command: str
    shown: tuple[str, ...]


def samples(file: Path) -> Iterator[Sample]:
    command, shown = "", []
    for line in (*file.read_text(encoding="utf-8").splitlines(), "the end"):
        inside = line.startswith(INDENT) or not line
        text = line[len(INDENT) :].rstrip()
        if command and (not inside or text.startswith("$ ")):
            yield Sample(file, command, tuple(_without_empty_end(shown)))
            command, shown = "", []
        if inside and text.startswith("$ plimsoll "):
            command, shown = text[2:], []
        elif command:
            shown.append(text)


def differences(sample: Sample, printed: list[str]) -> list[str]:
    """Lines that are shown and not printed, in their order."""
    rest, found = [line.rstrip() for line in printed], []
    for line in sample.shown:
        if line in (LEFT_OUT, ""):
            continue
        if line in rest:
            rest = rest[rest.index(line) + 1 :]
        else:
            found.append(line)
    return found


def run(sample: Sample, folder: Path) -> list[str]:
    own = {f"PLIMSOLL_{name}": str(folder / name) for name in ("CALIBRATIONS", "SETTINGS", "SEARCHES")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    told = subprocess.run(
        ["bash", "-c", sample.command],
        cwd=folder,
        env=os.environ | own | {"COLUMNS": str(WIDTH), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode not in (0, 3):
        return [f"exit code {told.returncode}: {told.stderr.strip()}"]
    if sample.command.split()[1] in MEASURED:
        return []
    return differences(sample, told.stdout.splitlines())


def main() -> int:
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(DEMO, folder / DEMO.name)
        for example in (ROOT / "examples").glob("*.py"):
            shutil.copy(example, folder)
        subprocess.run([sys.executable, "-c", RESNET], cwd=folder, check=True, stderr=subprocess.DEVNULL)
        (folder / "planner_app").symlink_to(ROOT / "planner_app")
        for sample in (sample for file in TEXTS for sample in samples(file)):
            missing = run(sample, folder)
            bad += bool(missing)
            print(f"{'differs' if missing else 'as shown'}  {sample.file.name}  {sample.command}", flush=True)
            for line in missing:
                print(f"    {line}")
    return 1 if bad else 0


def _without_empty_end(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


if __name__ == "__main__":
    sys.exit(main())
