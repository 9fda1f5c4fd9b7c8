"""What a user does to the app in `soak.py`: one operation after another, chosen by dice."""

import collections
import inspect
import json
import random
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication
from soak_counting import children
from turning import turn

from planner_app.core.model.setup import Precision, Setup, parse_optimizer
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.gui.app import DEMO, App
from planner_app.gui.look import export
from planner_app.gui.look.theme import Look
from planner_app.gui.panels.doctor.presenter import DoctorPresenter
from planner_app.gui.panels.plan.presenter import PlanPresenter
from planner_app.gui.panels.validate.presenter import ValidatePresenter
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.settings import SettingsFile

LOGS = Path(__file__).parents[1] / "doctor" / "logs"
PATIENCE_SECONDS = 600.0
DEVICES = ("NVIDIA L4", "NVIDIA T4", "cpu:8GiB", "24GiB")


class User:
    def __init__(self, qt: QApplication, folder: Path, seed: int) -> None:
        self.dice, self.folder = random.Random(seed), folder
        self.app = App(qt, SettingsFile(folder / "settings" / "settings.json"))
        self.app.window.show()
        self.app.furnish()
        self.session = self.app.session
        self.done: collections.Counter[str] = collections.Counter()
        self.troubles: list[str] = []
        self.models = [str(DEMO), str(_model(folder, "wide", 64)), str(_model(folder, "narrow", 8)), _broken(folder)]
        self.logs = sorted(LOGS.glob("*.log"))
        self.actions: dict[Callable[[], object], int] = {
            self.open_one: 5, self.open_and_wait: 2, self.cancel: 4, self.choose: 8, self.undo: 4, self.redo: 3,
            self.estimate: 4, self.kill: 3, self.export: 6, self.save_plan: 3, self.open_plan: 3, self.theme: 3,
            self.doctor: 3, self.measure: 1, self.cancel_measuring: 2, self.look_at_a_panel: 6, self.resize: 2,
        }  # fmt: skip

    def open_all(self) -> None:
        """Once each, side by side: recent models in the menu and labels on the chart are kept from then on."""
        for path in self.models:
            self.app.open(path)
            wait(lambda: not self.session.opening)
        wait(lambda: self.session.answers.idle)

    # What a user does

    def step(self) -> str:
        action = self.dice.choices(list(self.actions), list(self.actions.values()))[0]
        self.done[action.__name__] += 1
        try:
            action()
        except PlannerError as error:  # a sentence is an answer
            self.done[type(error).__name__] += 1
        turn(self.dice.choice((0, 1, 20, 100)))
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

    def settle(self) -> int:
        """Let everything end, then look at the same thing every time: one model, one way to train, all panels.

        Gives the bytes of its estimate.
        """
        session, validate, doctor = self.session, self.presenter(ValidatePresenter), self.presenter(DoctorPresenter)
        session.cancel()
        self.cancel_measuring()
        wait(lambda: not validate.busy and not doctor.busy and not session.opening)
        for model in [model for model in session.models if model.source.path != str(DEMO)]:
            session.close_model(model)
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
                turn(30)
        wait(lambda: session.answers.idle and all(step in session.memories for step in session.choice.steps()))
        estimate = self._estimate(setup)
        turn(300)
        return estimate

    def _estimate(self, setup: Setup) -> int:
        question = self.session.estimate_of(setup)
        found: list[object] = []

        def answered() -> bool:
            found[:] = [self.session.answers.ask_one("soak", question)]
            return found[0] is not None

        wait(answered)
        self.session.answers.ask("soak", [])
        return int(found[0].peak_bytes)  # type: ignore[attr-defined]


def wait(until: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise AssertionError(f"It did not happen: {inspect.getsource(until).strip()}")
        turn(20)
    turn(60)


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
