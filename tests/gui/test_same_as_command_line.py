"""Everything the command line can, the app can: the two lists are compared, option by option."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QWidget

from planner_app.commands.help.reference.values import read
from planner_app.gui.app import App
from planner_app.gui.panels.opening.with_code import WithCodeDialog
from planner_app.gui.state.settings import SettingsFile
from planner_app.gui.state.source import ModelSource

Find = Callable[["Rooms"], object]


class Rooms:
    """Where things are in the app."""

    def __init__(self, app: App) -> None:
        self.app, self.actions = app, app.actions
        self.setup, self.devices, self.chart, self.largest, self.hardware, self.validate, self.plan, self.advice = (
            app.panels[title].widget
            for title in ("Setup", "Devices", "Chart", "Largest batch", "Hardware", "Validate", "Plan", "Advice")
        )
        self.fleet = app.panels["Fleet"].widget
        app.actions.tools.show_selftest()
        app.actions.tools.show_calibrations()
        self.selftest, self.calibrations = app.actions.tools.selftest, app.actions.tools.calibrations
        self.with_code = WithCodeDialog(app.window, ModelSource(""), str)
        self.log = app.centre.log


# By option, whatever the command: where a user finds it.
OPTIONS: dict[str, Find] = {
    "MODEL": lambda at: at.actions.open,
    "--custom": lambda at: at.with_code.custom,
    "--trust": lambda at: at.with_code.trust,
    "--data": lambda at: at.with_code.data,
    "--python": lambda at: at.actions.python,
    "--model": lambda at: at.log.model,
    "--sort": lambda at: at.hardware.filters.best,
    "--pay": lambda at: at.hardware.filters.pay,
    "--budget": lambda at: at.hardware.filters.budget,
    "--priced": lambda at: at.hardware.filters.budget,
    "--watts": lambda at: at.hardware.filters.watts,
    "--segment": lambda at: at.hardware.filters.segment,
    "--every-count": lambda at: at.hardware.filters.every,
    "--accumulate-up-to": lambda at: at.hardware.filters.steps,
    "--samples": lambda at: at.hardware.filters.run.samples,
    "--epochs": lambda at: at.hardware.filters.run.epochs,
    "--deadline": lambda at: at.hardware.filters.run.deadline,
    "--runs": lambda at: at.hardware.filters.run.runs,
    "--power-price": lambda at: at.hardware.filters.run.power,
    "--used": lambda at: at.hardware.filters.run.used,
    "--launch-prices": lambda at: at.hardware.filters.run.launch,
    "--pdf": lambda at: at.hardware.report,
    "--scenario": lambda at: at.hardware.report,
    "--selftest": lambda at: at.fleet.test,
    "--kinds": lambda at: at.fleet.table,
    "--gpu": lambda at: at.devices,
    "--rung": lambda at: at.plan.ladder,
    "--batch": lambda at: at.setup.batch,
    "--precision": lambda at: at.setup.precision,
    "--gpus": lambda at: at.setup.gpus,
    "--optimizer": lambda at: at.setup.optimizer,
    "--accumulate": lambda at: at.setup.accumulate,
    "--jit": lambda at: at.setup.jit,
    "--loss": lambda at: at.setup.loss,
    "--set": lambda at: at.setup,
    "--freeze": lambda at: at.setup.freeze,
    "--lora": lambda at: at.setup.lora,
    "--quantize": lambda at: at.setup.quantize,
    "--remat": lambda at: at.setup.remat,
    "--backend": lambda at: at.setup.backend.backend,
    "--mesh": lambda at: at.setup.backend.mesh,
    "--layout": lambda at: at.setup.backend.layout,
    "--ray": lambda at: at.fleet.address,
    "--device": lambda at: at.devices,
    "--devices": lambda at: at.devices,
    "--limit": lambda at: at.devices.custom,
    "--search": lambda at: at.devices.search,
    "--precisions": lambda at: at.setup.lines,
    "--batches": lambda at: at.chart,
    "--sure": lambda at: at.plan.fields.sure,
    "--on": lambda at: at.validate.place,
    "--inline": lambda at: at.validate.one_by_one,
    "--processes": lambda at: at.validate.processes,
    "--growth": lambda at: at.plan.fields.memory,
    "--allocator": lambda at: at.plan.fields.memory,
    "--hosts": lambda at: at.plan.fields.hosts,
    "--prefetch": lambda at: at.plan.fields.prefetch,
    "--shuffle": lambda at: at.plan.fields.shuffle,
    "--cache": lambda at: at.plan.fields.cache,
    "--allow": lambda at: at.plan.fields.lower_precision,
    "--compare": lambda at: at.validate.table,
    "--list": lambda at: at.calibrations.list,
    "--forget": lambda at: at.calibrations.forget,
    "--export": lambda at: at.calibrations.export,
    "--import": lambda at: at.calibrations.take_in,
    "--minutes": lambda at: at.selftest.minutes,
    "--output": lambda at: at.plan.save,
    "LOG": lambda at: at.log.open,
    "PLAN.json": lambda at: at.plan.open,
    "RESULT.json": lambda at: at.validate.open_button,
}
COMMANDS: dict[str, Find] = {
    "describe": lambda at: at.app.panels["Layers"].widget,
    "estimate": lambda at: at.app.centre.model,
    "sweep": lambda at: at.chart,
    "max-batch": lambda at: at.largest,
    "advise": lambda at: at.advice,
    "shop": lambda at: at.hardware,
    "devices": lambda at: at.devices,
    "measure": lambda at: at.validate.kind,
    "calibrate": lambda at: at.actions.calibrations,
    "compile": lambda at: at.validate.kind,
    "selftest": lambda at: at.actions.selftest,
    "fleet": lambda at: at.fleet.measure,
    "plan": lambda at: at.plan.save,
    "script": lambda at: at.plan.copy,
    "check": lambda at: at.plan.open,
    "run": lambda at: at.actions.run,
    "doctor": lambda at: at.actions.log,
    "doctor-env": lambda at: at.actions.checkup,
}
# What has no place in a window, and why.
FOR_TERMINALS = {
    "completion": "completes the command line",
    "max-input": "the Setup panel's input sizes answer it by trying; the command searches",
}
FOR_PROGRAMS = {"--json", "--debug", "--help", "--schema", "--csv", "--html"}
OF_THE_COMMAND = {
    "--exact": "the app compiles in the background, wherever a line is compiled by XLA",
    "--quick": "the same",
    "--uncalibrated": "calibrations can be forgotten",
    "--measured": "the Validate panel searches by measuring",
    "--multiple": "a batch is typed",
    "--margin": "the band is drawn",
    "--fresh": "of the search by measuring",
    "--threads": "of measuring on the CPU",
    "--steps": "of measuring",
    "--fits": "of measuring, for scripts",
    "--top": "the table scrolls",
    "--variants": "the Devices panel lists slices and cards with ECC switched off",
    "--twice": "twice the input's size is typed into the Setup panel",
    "--grow": "of the search for the largest input",
}
IN_A_TERMINAL = {
    "--now": "a running training is looked at in a terminal",
    "--pid": "the same",
    "--seconds": "the same",
    "--plan": "the same",
    "--import-prices": "prices are imported in a terminal",
    "--price-template": "the same",
    "--machines": "the same",
    "--again": "a kept scenario is asked again in a terminal",
    "--data-size": "of the disk of a rented machine: the same",
    "--every": "of running a script, which is done in a terminal",
    "--tries": "the same",
    "--folder": "the same",
    "--worker": "the same",
    "--port": "the same",
    "--kind": "the Fleet panel measures on a machine that is chosen",
}


@pytest.fixture(scope="module")
def rooms(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory):
    app = App(qapp, SettingsFile(Path(tmp_path_factory.mktemp("settings"), "settings.json")))
    app.window.show()
    app.furnish()
    yield Rooms(app)
    app.window.close()
    app.window.deleteLater()


def test_that_every_command_has_a_place_in_the_app(rooms: Rooms):
    named = {command.name for command in read()}
    assert named == {*COMMANDS, *FOR_TERMINALS}
    for name, find in COMMANDS.items():
        assert isinstance(find(rooms), QWidget | QAction), name


def test_that_every_option_has_a_place_in_the_app(rooms: Rooms):
    wanted = {argument.flags[-1] for command in read() for argument in command.arguments if argument.flags}
    told = {*OPTIONS, *FOR_PROGRAMS, *OF_THE_COMMAND, *IN_A_TERMINAL}
    assert wanted == {name for name in told if name.startswith("--")}
    for name, find in OPTIONS.items():
        found = find(rooms)
        assert isinstance(found, QObject | dict) and found is not None, name
