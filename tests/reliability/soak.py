"""Hundreds of random operations on the real app, without a screen, with real workers:

    python tests/reliability/soak.py --count 250 --seed 1

Now and then all work is let come to an end on the demo model, and memory, threads, processes, open files, widgets and
objects are counted. None may grow, and the estimate must be the same every time, and that of the command line.
"""

import argparse
import collections
import ctypes
import gc
import inspect
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import median
from types import TracebackType

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import psutil
from kept import keep_result
from PySide6.QtCore import QObject, QtMsgType, qInstallMessageHandler
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from planner_app.core.model.setup import Precision, Setup, parse_optimizer
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.app import DEMO, App
from planner_app.gui.background.garbage import Garbage
from planner_app.gui.choice import Choice
from planner_app.gui.look import export
from planner_app.gui.look.theme import Look
from planner_app.gui.panels.doctor.presenter import DoctorPresenter
from planner_app.gui.panels.plan.presenter import PlanPresenter
from planner_app.gui.panels.validate.presenter import ValidatePresenter
from planner_app.gui.settings import SettingsFile

HERE = Path(__file__).parent
COUNT = 250  # the rate is ten a minute, a model that is opened starts TensorFlow
FILES_OF_A_CHILD = 6  # three pipes, the lifeline, the lock of its folder, the selector
WARM_UP = 50  # operations: caches and pools fill
EVERY = 25  # operations between two counts
PATIENCE_SECONDS = 600.0
# What the later half of the counts may have more than the earlier one, in the middle of each.
MOST_GROWTH = {"mebibytes": 20.0, "threads": 0, "children": 0, "files": 0, "widgets": 0, "objects": 5}
DEVICES = ("NVIDIA L4", "NVIDIA T4", "cpu:8GiB", "24GiB")


@dataclass(frozen=True, slots=True)
class Count:
    """What the app holds when nothing is going on. `files` without those of workers that wait for more."""

    operations: int
    mebibytes: float
    threads: int
    children: int
    files: int
    widgets: int
    objects: int
    estimate: int
    kinds: dict[str, int] = field(repr=False)


class Soak:
    def __init__(self, qt: QApplication, folder: Path, seed: int) -> None:
        self.dice, self.folder = random.Random(seed), folder
        self.app = App(qt, SettingsFile(folder / "settings" / "settings.json"))
        self.app.window.show()
        self.app.furnish()
        self.session = self.app.session
        self.done: collections.Counter[str] = collections.Counter()
        self.troubles: list[str] = []
        self.models = [str(DEMO), str(_model(folder, "wide", 64)), str(_model(folder, "narrow", 8)), _broken(folder)]
        self.logs = sorted((HERE.parent / "doctor" / "logs").glob("*.log"))
        self.actions: dict[Callable[[], object], int] = {
            self.open_one: 5, self.open_and_wait: 2, self.cancel: 4, self.choose: 8, self.undo: 4, self.redo: 3,
            self.estimate: 4, self.kill: 3, self.export: 6, self.save_plan: 3, self.open_plan: 3, self.theme: 3,
            self.doctor: 3, self.measure: 1, self.cancel_measuring: 2, self.look_at_a_panel: 6, self.resize: 2,
        }  # fmt: skip

    # What a user does

    def step(self) -> str:
        action = self.dice.choices(list(self.actions), list(self.actions.values()))[0]
        self.done[action.__name__] += 1
        try:
            action()
        except PlannerError as error:  # a sentence is an answer
            self.done[type(error).__name__] += 1
        QTest.qWait(self.dice.choice((0, 1, 20, 100)))
        return action.__name__

    def open_one(self) -> None:
        self.app.open(self.dice.choice(self.models))

    def open_and_wait(self) -> None:
        self.open_one()
        wait(lambda: not self.session.opening)

    def cancel(self) -> None:
        self.session.cancel()

    def choose(self) -> None:
        dice, session = self.dice, self.session
        kind = dice.choice(("batch", "batch", "precision", "optimizer", "gpus", "device", "pin"))
        if kind == "batch":
            for _ in range(dice.randint(1, 20)):  # a slider
                session.choose_setup("slide", batch=2 ** dice.randint(2, 16))
        elif kind == "precision":
            session.choose_setup(precision=dice.choice((Precision.FLOAT32, Precision.MIXED_FLOAT16)))
        elif kind == "optimizer":
            session.choose_setup(optimizer=parse_optimizer(dice.choice(("adam", "sgd"))))
        elif kind == "gpus":
            session.choose_setup(gpus=dice.choice((1, 2)))
        elif kind == "device":
            device = find_device(dice.choice(DEVICES))
            session.choose(lambda choice: Choice(choice.setup, device, (device,), choice.precisions, choice.gpu_counts))
        else:
            session.pin(dice.choice((None, session.choice)))

    def undo(self) -> None:
        if self.session.can_undo:
            self.session.undo()

    def redo(self) -> None:
        if self.session.can_redo:
            self.session.redo()

    def estimate(self) -> None:
        question = self.session.estimate_of(self.session.choice.setup)
        self.session.answers.ask_one("soak", question)
        self.session.answers.ask("soak", [])

    def kill(self) -> None:
        for child in children():
            if self.dice.random() < 0.7:
                child.kill()

    def export(self) -> None:
        shown = [each for each in self.app.panels.values() if each.picture is not None or each.table is not None]
        panel = self.dice.choice(shown)
        kinds = ["png", "svg"] * (panel.picture is not None) + ["csv"] * (panel.table is not None)
        kind = self.dice.choice(kinds)
        export.save(str(self.folder / f"picture.{kind}"), export.data_of(panel, kind))

    def save_plan(self) -> None:
        self.app.window.bring("Plan")
        self.presenter(PlanPresenter).save_plan(str(self.folder / "model.plan.json"))

    def open_plan(self) -> None:
        self.app.window.bring("Plan")
        if (self.folder / "model.plan.json").exists():
            self.presenter(PlanPresenter).open_plan(str(self.folder / "model.plan.json"))

    def theme(self) -> None:
        self.app.appearance.choose(self.dice.choice(list(Look)))

    def doctor(self) -> None:
        self.presenter(DoctorPresenter).read_file(str(self.dice.choice(self.logs)))

    def measure(self) -> None:
        self.session.choose_setup(batch=8)
        self.presenter(ValidatePresenter)._view.run.click()

    def cancel_measuring(self) -> None:
        self.presenter(ValidatePresenter)._view.cancel_clicked.emit()

    def look_at_a_panel(self) -> None:
        title = self.dice.choice([title for title in self.app.panels if title != "Chart"])
        self.app.window.bring(title)

    def resize(self) -> None:
        self.app.window.resize(self.dice.randint(700, 1600), self.dice.randint(500, 1000))

    def presenter(self, kind: type[QObject]) -> QObject:
        return next(iter(self.app.window.findChildren(kind)))

    # What is counted

    def settle(self, operations: int) -> Count:
        """Let everything end, then look at the same thing every time: one model, one way to train, all panels."""
        session, validate, doctor = self.session, self.presenter(ValidatePresenter), self.presenter(DoctorPresenter)
        session.cancel()
        self.cancel_measuring()
        wait(lambda: not validate.busy and not doctor.busy)
        device = find_device("NVIDIA L4")
        setup = Setup(batch=32)
        for _ in range(5):  # a worker that was killed just now is a trouble of the open model
            self.app.open(str(DEMO))
            session.choose(lambda choice: Choice(setup, device, (device,), (Precision.FLOAT32,), (1,)))
            wait(lambda: not session.opening)
            if session.opened is None:
                continue
            session.forget_history()
            session.pin(None)
            wait(lambda: session.memory(setup) is not None or bool(session.trouble(setup)))
            if session.memory(setup) is not None:
                break
        self.app.appearance.choose(Look.LIGHT)
        self.app.window.resize(1280, 800)
        for title in self.app.panels:
            if title != "Chart":
                self.app.window.bring(title)
                QTest.qWait(30)
        wait(lambda: session.answers.idle and all(step in session.memories for step in session.choice.steps()))
        estimate = self._estimate(setup)
        QTest.qWait(300)
        return self._count(operations, estimate)

    def _estimate(self, setup: Setup) -> int:
        question = self.session.estimate_of(setup)
        found: list[object] = []

        def answered() -> bool:
            found[:] = [self.session.answers.ask_one("soak", question)]
            return found[0] is not None

        wait(answered)
        self.session.answers.ask("soak", [])
        return int(found[0].peak_bytes)  # type: ignore[attr-defined]

    def _count(self, operations: int, estimate: int) -> Count:
        for _ in range(3):
            gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        workers = children()
        files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        kinds = collections.Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, QObject))
        return Count(
            operations=operations,
            mebibytes=round(psutil.Process().memory_info().rss / (1 << 20), 1),
            threads=threading.active_count(),
            children=max(0, len(workers) - 2),  # two may stay, for the next trace
            files=files - FILES_OF_A_CHILD * len(workers),
            widgets=len(QApplication.allWidgets()),
            objects=kinds.total(),
            estimate=estimate,
            kinds=dict(kinds),
        )


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def wait(until: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise AssertionError(f"It did not happen: {inspect.getsource(until).strip()}")
        QTest.qWait(20)
    QTest.qWait(60)


def _model(folder: Path, name: str, units: int) -> Path:
    def dense(index: int, width: int) -> dict[str, object]:
        config = {"name": f"dense_{index}", "trainable": True, "dtype": "float32", "units": width}
        return {"module": "keras.layers", "class_name": "Dense", "config": config, "registered_name": None}

    begin = {"batch_shape": [None, 16], "dtype": "float32", "name": "given"}
    first = {"module": "keras.layers", "class_name": "InputLayer", "config": begin, "registered_name": None}
    layers = [first, *(dense(index, units) for index in range(3)), dense(3, 4)]
    config = {"name": name, "trainable": True, "layers": layers, "build_input_shape": [None, 16]}
    model = {"module": "keras", "class_name": "Sequential", "config": config, "registered_name": "Sequential"}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(model))
    return path


def _broken(folder: Path) -> str:
    path = folder / "broken.keras"
    path.write_bytes(b"PK\x03\x04 no more of it")
    return str(path)


def more(counts: Sequence[Count]) -> str:
    """Which objects there are more of than at the first count."""
    kinds = collections.Counter(counts[-1].kinds) - collections.Counter(counts[0].kinds)
    return "more of " + ", ".join(f"{kind} {many}" for kind, many in kinds.most_common(8)) if kinds else ""


def grown(counts: Sequence[Count]) -> list[str]:
    """What is more in the later half than in the earlier one, each by its median."""
    found, middle = [], len(counts) // 2
    for name, most in MOST_GROWTH.items():
        values = [getattr(count, name) for count in counts]
        growth = median(values[middle:]) - median(values[:middle])
        if growth > most:
            found.append(f"{name} +{growth:g}")
    if any(each.startswith("objects") for each in found):
        found.append(more(counts))
    if len({count.estimate for count in counts}) != 1:
        found.append("the estimate changed")
    return found


def from_command_line() -> int:
    command = [
        sys.executable,
        "-m",
        "planner_app",
        "estimate",
        str(DEMO),
        "--batch",
        "32",
        "--device",
        "NVIDIA L4",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(json.loads(done.stdout)["peak_bytes"])


def table(counts: Sequence[Count]) -> str:
    names = [each.name for each in fields(Count) if each.repr]
    rows = [names, *([str(getattr(count, name)) for name in names] for count in counts)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(names))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def run(count: int, seed: int, folder: Path, tell: Callable[[str], object]) -> tuple[list[Count], Soak]:
    warnings: list[str] = []

    def hear(kind: QtMsgType, _context: object, text: str) -> None:
        if "This plugin does not support" not in text:
            warnings.append(text)

    qInstallMessageHandler(hear)
    qt = QApplication.instance() or QApplication(["plimsoll"])
    assert isinstance(qt, QApplication)
    garbage, soak, counts = Garbage(), Soak(qt, folder, seed), []

    def report(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        soak.troubles.append(f"{kind.__name__}: {error}")
        traceback.print_exception(kind, error, at)

    sys.excepthook = report
    try:
        for number in range(1, count + 1):
            name = soak.step()
            if number % EVERY == 0:
                counts.append(soak.settle(number))
                tell(f"{number:5} {name:18} {counts[-1]} {more(counts)}")
    finally:
        soak.app.window.close()
    soak.troubles.extend(f"Qt: {text}" for text in dict.fromkeys(warnings))
    if left := children():
        soak.troubles.append(f"processes left: {left}")
    garbage.close()
    return counts, soak


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for variable in ("CACHE", "CALIBRATIONS", "SETTINGS", "SEARCHES"):
            os.environ[f"PLIMSOLL_{variable}"] = str(folder / variable.lower())
        (folder / "temp").mkdir()
        tempfile.tempdir = str(folder / "temp")
        counts, soak = run(options.count, options.seed, folder, lambda line: print(line, flush=True))
        expected = from_command_line()
        left = [path.name for path in (folder / "temp").iterdir()]
        tempfile.tempdir = None
    kept = [count for count in counts if count.operations > WARM_UP]
    bad = [*grown(kept), *soak.troubles, *(f"left: {each}" for each in left)]
    if kept[-1].estimate != expected:
        bad.append(f"the last estimate is {kept[-1].estimate}, that of the command line {expected}")
    print(table(counts))
    print(", ".join(f"{action} {times}" for action, times in soak.done.most_common()))
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
