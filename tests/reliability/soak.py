"""Hundreds of random operations on the real app, without a screen, with real workers:

    python tests/reliability/soak.py --count 250 --seed 1

Now and then all work is let come to an end on the demo model, and memory, threads, processes, open files, widgets and
objects are counted. None may grow, and the estimate must be the same every time, and that of the command line.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

os.environ["QT_QPA_PLATFORM"] = "offscreen"
sys.path.insert(0, str(Path(__file__).parents[1]))

from kept import keep_result
from PySide6.QtCore import QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication
from soak_counting import Count, children, count, grown, more, table
from soak_operations import User

from planner_app.gui.app import DEMO
from planner_app.gui.background.garbage import Garbage

COUNT = 250
WARM_UP = 50  # operations: caches and pools fill
EVERY = 25  # operations between two counts


def from_command_line() -> int:
    asked = ["estimate", str(DEMO), "--batch", "32", "--device", "NVIDIA L4", "--json"]
    command = [sys.executable, "-m", "planner_app", *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(json.loads(done.stdout)["peak_bytes"])


def run(operations: int, seed: int, folder: Path, tell: Callable[[str], object]) -> tuple[list[Count], User]:
    warnings: list[str] = []

    def hear(kind: QtMsgType, _context: object, text: str) -> None:
        if "This plugin does not support" not in text:
            warnings.append(text)

    qInstallMessageHandler(hear)
    qt = QApplication.instance() or QApplication(["plimsoll"])
    assert isinstance(qt, QApplication)
    garbage, user, counts = Garbage(), User(qt, folder, seed), []

    def report(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        user.troubles.append(f"{kind.__name__}: {error}")
        traceback.print_exception(kind, error, at)

    sys.excepthook = report
    try:
        user.open_all()
        for number in range(1, operations + 1):
            name = user.step()
            if number % EVERY == 0:
                counts.append(count(number, user.settle()))
                tell(f"{number:5} {name:18} {counts[-1]} {more(counts)}")
    finally:
        user.app.window.close()
    user.troubles.extend(f"Qt: {text}" for text in dict.fromkeys(warnings))
    if left := children():
        user.troubles.append(f"processes left: {left}")
    garbage.close()
    return counts, user


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for variable in ("CACHE", "CALIBRATIONS", "SETTINGS", "SEARCHES"):
            os.environ[f"PLIMSOLL_{variable}"] = str(folder / variable.lower())
        # The compiler's answer comes when it comes: an estimate before it and one after it are two figures.
        os.environ["PLIMSOLL_COMPILER"] = "never"
        (folder / "temp").mkdir()
        tempfile.tempdir = str(folder / "temp")
        counts, user = run(options.count, options.seed, folder, lambda line: print(line, flush=True))
        expected = from_command_line()
        left = [path.name for path in (folder / "temp").iterdir()]
        tempfile.tempdir = None
    kept = [each for each in counts if each.operations > WARM_UP]
    bad = [*grown(kept), *user.troubles, *(f"left: {each}" for each in left)]
    if kept[-1].estimate != expected:
        bad.append(f"the last estimate is {kept[-1].estimate}, that of the command line {expected}")
    print(table(counts))
    print(", ".join(f"{action} {times}" for action, times in user.done.most_common()))
    print("\n".join(bad) or "Nothing grew, nothing was lost.")
    first, last = kept[0], kept[-1]
    detail = (
        f"from operation {WARM_UP} on: {first.mebibytes:g} to {last.mebibytes:g} MiB, {last.threads} threads, "
        f"{last.files} files, {last.widgets} widgets, {first.objects} to {last.objects} objects of Qt; "
        "the last estimate is the command line's"
    )
    if options.count < COUNT:
        return 1 if bad else 0
    keep_result(
        "soak",
        "Random operations on the app with real workers, some of them killed: no thread, process, file or widget more, "
        "no result lost",
        options.count,
        len(bad),
        detail if not bad else "; ".join(bad),
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
