"""Which TensorFlow and Keras work as the workers' Python: describe, estimate and measure under each of them.

    python tests/versions [--folder DIR] [--only 2.18] [--print]

Each pair gets an environment of its own in a folder that is removed afterwards, unless one is named. The models are
saved by that Keras, estimated and measured by Plimsoll under it (`--python`). Results are kept in `results.json`, pair
by pair, and the table goes into the guide.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RESULTS, GUIDE = HERE / "results.json", ROOT / "planner_app" / "data" / "guide" / "measuring.md"
BEGIN, END = "<!-- versions:begin -->", "<!-- versions:end -->"
PAIRS = (
    ("2.16.2", "3.5.0"),
    ("2.17.1", "3.6.0"),
    ("2.18.1", "3.8.0"),
    ("2.19.1", "3.10.0"),
    ("2.20.0", "3.11.3"),
    ("2.20.0", "3.12.4"),
    ("2.21.0", "3.13.2"),
    ("2.21.0", "3.14.1"),
    ("2.21.0", "3.15.1"),
)
MODELS = ("residual", "language", "recurrent")
SECONDS = 900  # longer means it hangs


@dataclass(frozen=True, slots=True)
class Outcome:
    """One model under one pair. Errors are parts of the measured figure; `trouble` is what went wrong, if anything."""

    tensorflow: str
    keras: str
    model: str
    live_error: float = 0.0
    in_use_error: float = 0.0
    in_band: bool = False
    trouble: str = ""


def outcome(pair: tuple[str, str], model: str, file: Path, python: Path) -> Outcome:
    try:
        plimsoll("describe", file, python)
        told = plimsoll("estimate", file, python, "--batch", "8", "--device", "cpu", "--jit", "off")
        measured = plimsoll("measure", file, python, "--batch", "8", "--inline", "--jit", "off")
    except RuntimeError as error:
        return Outcome(*pair, model, trouble=str(error))
    in_use = max(measured["peak_bytes"].values())
    return Outcome(
        *pair,
        model,
        live_error=round(told["live_bytes"] / measured["live_bytes"] - 1, 5),
        in_use_error=round(told["peak_bytes"] / in_use - 1, 5),
        in_band=told["low_bytes"] <= in_use <= told["high_bytes"],
    )


def plimsoll(command: str, file: Path, python: Path, *options: str) -> Any:
    words = [sys.executable, "-m", "planner_app", command, str(file), "--python", str(python), "--json", *options]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=SECONDS, check=False)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"{command}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'no answer'}")
    return json.loads(done.stdout)


def environment(folder: Path, tensorflow: str, keras: str) -> Path:
    """A Python with this pair; Keras alone is exchanged in one that is there already."""
    place = folder / f"tensorflow-{tensorflow}"
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        run(python, "-m", "pip", "install", "--quiet", f"tensorflow=={tensorflow}", "msgspec", "h5py")
    run(python, "-m", "pip", "install", "--quiet", f"keras=={keras}")
    return python


def run(*words: str | Path) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True, timeout=2 * SECONDS)


def table(outcomes: list[Outcome]) -> str:
    lines = ["| TensorFlow | Keras | model | live bytes | in use | in the band |", "|---|---|---|---:|---:|---|"]
    for each in outcomes:
        figures = (
            f"{each.trouble} | | " if each.trouble else f"{each.live_error:+.2%} | {each.in_use_error:+.1%} | "
            f"{'yes' if each.in_band else 'no'}"
        )  # fmt: skip
        lines.append(f"| {each.tensorflow} | {each.keras} | {each.model} | {figures} |")
    return "\n".join(lines)


def write_guide(text: str) -> None:
    before, begin, rest = GUIDE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if begin and end:
        GUIDE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/versions", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where environments are made, and kept")
    parser.add_argument("--only", default="", metavar="WORD", help="only pairs with this in their versions")
    parser.add_argument("--print", action="store_true", help="write no file")
    given = parser.parse_args()
    kept = [Outcome(**each) for each in json.loads(RESULTS.read_text())] if RESULTS.exists() else []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        for pair in (pair for pair in PAIRS if given.only in " ".join(pair)):
            python = environment(given.folder or Path(temporary), *pair)
            models = Path(temporary) / "-".join(pair)
            run(python, HERE / "models.py", models)
            found = [outcome(pair, model, models / f"{model}.keras", python) for model in MODELS]
            kept = [each for each in kept if (each.tensorflow, each.keras) != pair] + found
            kept.sort(key=lambda each: PAIRS.index((each.tensorflow, each.keras)))
            print(table(found), flush=True)
            if not given.print:
                RESULTS.write_text(json.dumps([asdict(each) for each in kept], indent=1) + "\n")
                write_guide(table(kept))
    return 1 if any(each.trouble for each in kept) else 0


if __name__ == "__main__":
    sys.exit(main())
