"""`make gallery`: every model of the gallery opened, estimated and measured, as a table.

`python -m tests.gallery [NAME ...]` takes some of them, `--files` opens them as .keras files, `--fit` runs ordinary
`fit` in three processes too, `--estimate` measures nothing.
"""

import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path
from statistics import median

from planner_app.core.measure.measurement import Order, Place
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Jit, Setup
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.planner.measuring.measure import measure
from planner_app.planner.opening import check_model
from planner_app.planner.planner import Planner
from tests.gallery.entries import BATCH, Entry, entries

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "build" / "gallery.md"
# A model that trains itself can't be saved with Keras: its class says nothing about how to make it again.
FROM_FILES = ("particular", "tuned", "hub")


def main() -> int:
    options = _options()
    chosen = [each for each in entries() if not options.names or {each.name, each.file.stem} & set(options.names)]
    rows, errors, failed = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for entry in chosen:
            try:
                row, error = _row(entry, _opened(entry, Path(folder), options), options)
            except PlannerError as refused:
                row, error = [entry.name, str(refused)], None
                failed.append(entry.name)
            rows.append(row)
            errors += [error] if error is not None else []
            print(" | ".join(row), flush=True)
    _write(rows)
    if errors:
        print(f"live bytes: median error {median(errors):.3%}, largest {max(errors):.2%}, {len(errors)} models")
    print(f"{len(failed)} did not open: {', '.join(failed)}" if failed else f"all {len(chosen)} opened")
    return 1 if failed else 0


def _options() -> Namespace:
    parser = ArgumentParser("gallery")
    parser.add_argument("names", nargs="*")
    for flag in ("--files", "--fit", "--estimate"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def _opened(entry: Entry, folder: Path, options: Namespace) -> CheckedModel:
    if not options.files or entry.file.stem not in FROM_FILES:
        return check_model(entry.target)
    subprocess.run([sys.executable, "-m", "tests.gallery.save", str(folder), entry.name], check=True, cwd=ROOT)
    trust = ("keras_hub",) if entry.file.stem == "hub" else ()
    return check_model(str(folder / f"{entry.name}.keras"), str(entry.file) if not trust else None, trust=trust)


def _row(entry: Entry, model: CheckedModel, options: Namespace) -> tuple[list[str], float | None]:
    setup = Setup(batch=BATCH, jit=Jit.OFF, sizes=entry.sizes)
    told = Planner(model, file=entry.name, calibrated=False).estimate(setup, find_device("cpu"))
    row = [entry.name, f"{told.live_bytes:,}"]
    if options.estimate:
        return row, None
    live = measure(model, setup, Place(), order=Order.INLINE).runs[0].live_bytes
    if not live:
        return [*row, "not measured"], None
    error = abs(told.live_bytes / live - 1)
    row += [f"{live:,}", f"{told.live_bytes / live - 1:+.3%}"]
    if options.fit:
        peak = measure(model, setup, Place(), fits=2, processes=3).peak_bytes
        row += [f"{peak:,}" if peak else "?", "in" if peak and told.low_bytes <= peak <= told.high_bytes else "OUT"]
    return row, error


def _write(rows: list[list[str]]) -> None:
    TABLE.parent.mkdir(exist_ok=True)
    head = ["model", "estimated", "measured", "error", "fit", "band"]
    lines = [head, ["---"] * len(head), *rows]
    TABLE.write_text("".join(f"| {' | '.join(row)} |\n" for row in lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
