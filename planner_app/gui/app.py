"""Assembles the app: one session, its panels, and the window."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QFileDialog

from planner_app import data
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Precision
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.foreign_text import for_line
from planner_app.gui import actions
from planner_app.gui.background.task import Task
from planner_app.gui.choice import Choice
from planner_app.gui.look.plain_label import agreed, warn
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panel import Panel
from planner_app.gui.panels.empty.presenter import CentrePresenter
from planner_app.gui.panels.empty.view import EmptyView
from planner_app.gui.session import Session
from planner_app.gui.settings import Settings, SettingsFile
from planner_app.gui.statusbar import StatusPresenter
from planner_app.gui.window import MainWindow
from planner_app.jobs import interpreter as python

DEMO = data.FOLDER / "demo.keras"
FIRST_DEVICE = "NVIDIA L4"
PLAN = ".plan.json"
MODELS = "Keras models (*.keras *.h5 *.hdf5 *.json);;All files (*)"
SIZE = (1280, 800)


class App(QObject):
    """The window appears at once; chart and panels, which take longer, come with the first model.

    Attributes:
        window: Not shown yet.
        panels: By title, the chart first; empty until needed.
    """

    def __init__(self, qt: QApplication, file: SettingsFile | None = None) -> None:
        super().__init__()
        self._file = file or SettingsFile()
        self.settings, warning = self._file.read()
        self._opened: list[str] = []  # in this window
        self.appearance = Appearance(qt, self.settings.look)
        device, others = _devices(self.settings)
        self.session = Session(device)
        self.session.choose(lambda choice: _restored(choice, self.settings, others))
        self.session.forget_history()
        self.panels: dict[str, Panel] = {}
        self.keeps_layout = True
        self._asked_for = ""
        self.empty = EmptyView()
        self._centre = CentrePresenter(self.session, self.empty)
        self.actions = actions.Actions(self)
        self.window = MainWindow(self._centre.centre, self.actions.menus())
        self.window.resize(*SIZE)
        self._status = StatusPresenter(self.session, self.window.statusBar(), self.appearance)
        self.empty.open_clicked.connect(self.ask_for_model)
        self.empty.demo_clicked.connect(self.open_demo)
        self.empty.log_clicked.connect(self.show_doctor)
        self.empty.python_clicked.connect(self.ask_for_python)
        self.window.dropped.connect(self.open)
        self.window.closed.connect(self.close)
        self.session.model_changed.connect(self._on_model_changed)
        if notice := warning or self._file.notice():
            self._status.say(notice)

    def furnish(self) -> None:
        """Put chart and panels into the window, if they are not there yet."""
        if self.panels:
            return
        from planner_app.gui.docks import PANELS
        from planner_app.gui.panels.chart.presenter import make as chart  # pyqtgraph and NumPy take half a second

        made = chart(self.session, self.appearance, log=self.settings.log_scale)
        docked = [make(self.session, self.appearance) for make in PANELS]
        self.panels = {panel.title: panel for panel in (made, *docked)}
        self._centre.add_chart(made.widget)
        self.window.add(docked, self.actions.toggles)
        for panel in self.panels.values():
            self.actions.offer_export(panel)
        self._arrange()

    # Menus and drops

    def open(self, path: str) -> None:
        """Open a model's file or folder, or a plan; ask first for a Python file, since it is run."""
        if path.endswith(PLAN):
            self._open_plan(path)
            return
        if path.rpartition(":")[0].endswith(".py") and not self._agreed(path):
            return
        self._asked_for = path
        self.session.open(path)

    def open_demo(self) -> None:
        self.open(str(DEMO))

    def ask_for_model(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self.window, "Open a saved Keras model", "", MODELS)
        if path:
            self.open(path)

    def ask_for_folder(self) -> None:
        path = QFileDialog.getExistingDirectory(self.window, "Open a SavedModel folder")
        if path:
            self.open(path)

    def ask_for_python(self) -> None:
        from planner_app.gui.panels.python.presenter import make  # seldom needed

        view, presenter = make(self.session, self.appearance, self.window, self.settings.python)
        presenter.chosen.connect(self._on_python_chosen)
        view.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        view.open()

    def look_for_python(self) -> None:
        """Report at once, not at the first model, if there is no Python for workers."""
        if python.is_outside():
            task = Task(lambda _: python.find())
            task.finished.connect(self._on_python_found)
            self.session.start(task)

    def reload(self) -> None:
        if self.session.path:
            self.session.open(self.session.path)

    def show_doctor(self) -> None:
        self.furnish()
        self.window.bring("Doctor")

    def panel_in_focus(self) -> Panel:
        """The panel with keyboard focus, or the chart."""
        focus = QApplication.focusWidget()
        for panel in self.panels.values():
            if focus is not None and (panel.widget is focus or panel.widget.isAncestorOf(focus)):
                return panel
        return self.panels["Chart"]

    def attempt(self, action: Callable[[], object]) -> None:
        """Do it, and report why if it can't be done."""
        try:
            action()
        except PlannerError as error:
            warn(self.window, str(error))

    def close(self) -> None:
        """Save the settings and end all work, so that no process is left."""
        geometry, layout = self.settings.geometry, self.settings.layout
        if self.panels and self.keeps_layout:
            geometry, layout = self.window.layout_state()
        choice = self.session.choice
        self.settings = msgspec.structs.replace(
            self.settings,
            geometry=geometry,
            layout=layout,
            look=self.appearance.look,
            device=_written(choice.device),
            devices=tuple(map(_written, choice.devices)),
            precisions=tuple(map(str, choice.precisions)),
            gpu_counts=choice.gpu_counts,
            log_scale=self._log_scale(),
        )
        if trouble := self._file.write(self.settings, self._opened):
            sys.stderr.write(f"plimsoll: {for_line(trouble)}\n")
        self.session.close()

    def _log_scale(self) -> bool:
        chart = self.panels.get("Chart")
        return bool(chart.widget.axis.log) if chart else self.settings.log_scale  # type: ignore[attr-defined]

    def _arrange(self) -> None:
        kept = self.settings.geometry, self.settings.layout
        if not (self.keeps_layout and self.settings.layout and self.window.restore_layout(*kept)):
            sides = (Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea)
            panels = [panel for title, panel in self.panels.items() if title != "Chart"]
            first = {panel.area: panel.title for panel in reversed(panels)}
            widths = {title: 300 for area, title in first.items() if area in sides}
            heights = {title: 250 for area, title in first.items() if area not in sides}
            for title in first.values():
                self.window.bring(title)
            self.window.arrange(widths, heights)

    def _open_plan(self, path: str) -> None:
        self.furnish()
        self.window.bring("Plan")
        show = self.panels["Plan"].open
        assert show is not None
        show(path)

    def _on_python_chosen(self, path: str) -> None:
        self.settings = msgspec.structs.replace(self.settings, python=path)
        warning = self._file.write(self.settings)
        self._status.say(warning or (f"Workers now run in {path}." if path else "Plimsoll will look for a Python."))
        if self.session.opened is None and not self.session.opening:
            self.empty.show_welcome()
            if self._asked_for:
                self.open(self._asked_for)

    def _on_python_found(self, found: python.Python) -> None:
        if found.problem and self.session.opened is None and not self.session.opening:
            self.empty.show_no_python(found.problem)

    def _agreed(self, path: str) -> bool:
        question = (
            f"{path} is a program: opening it runs it with your permissions, but without network access. Do "
            "you trust it?"
        )
        return agreed(self.window, "Run this Python file?", question)

    def _on_model_changed(self) -> None:
        session = self.session
        if session.opening or session.opened is not None:
            QTimer.singleShot(0, self.furnish)  # once "opening" has been painted
        name = Path(session.path or session.opening).name
        self.window.setWindowTitle(f"{for_line(name)} - Plimsoll" if name else "Plimsoll")
        if session.opened is not None and session.path != str(DEMO):
            self._opened = [*(path for path in self._opened if path != session.path), session.path]
            self.settings = self.settings.with_recent(session.path)
            self.actions.show_recent(self.settings.recent)


def _devices(settings: Settings) -> tuple[Device, tuple[Device, ...]]:
    """The last chosen device and the others, without those that are no longer known."""
    found = []
    for name in dict.fromkeys((settings.device, *settings.devices)):
        try:
            found.append(find_device(name))
        except PlannerError:
            continue
    return (found[0], tuple(found)) if found else (first := find_device(FIRST_DEVICE), (first,))


def _written(device: Device) -> str:
    """The device in the form that `find_device` reads."""
    return f"cpu:{device.total_bytes}B" if not device.cuda and device.total_bytes else device.name


def _restored(choice: Choice, settings: Settings, devices: Sequence[Device]) -> Choice:
    known = set(map(str, Precision))
    precisions = tuple(Precision(name) for name in settings.precisions if name in known)
    counts = tuple(count for count in settings.gpu_counts if count > 0)
    return replace(
        choice,
        devices=tuple(devices),
        precisions=precisions or choice.precisions,
        gpu_counts=counts or choice.gpu_counts,
    )
