"""Assembles the app: one session, its panels, and the window."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from planner_app import data
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Precision
from planner_app.errors import PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.foreign_text import for_line
from planner_app.gui.background.task import Task
from planner_app.gui.frame import actions
from planner_app.gui.frame.dock import Dock, held
from planner_app.gui.frame.furniture import Furniture
from planner_app.gui.frame.panel import Panel
from planner_app.gui.frame.statusbar import StatusPresenter
from planner_app.gui.frame.window import MainWindow
from planner_app.gui.look.plain_label import warn
from planner_app.gui.look.tabs import TabStyle
from planner_app.gui.look.theme import Appearance
from planner_app.gui.opener import Opener
from planner_app.gui.panels.centre.presenter import CentrePresenter
from planner_app.gui.panels.centre.view import CentreView
from planner_app.gui.panels.doctor.presenter import make as make_log
from planner_app.gui.panels.doctor.presenter import panel_of as log_panel
from planner_app.gui.panels.headline.presenter import HeadlinePresenter
from planner_app.gui.panels.headline.view import HeadlineView
from planner_app.gui.state.choice import Choice
from planner_app.gui.state.remembered import remember
from planner_app.gui.state.session import Session
from planner_app.gui.state.settings import Settings, SettingsFile
from planner_app.gui.state.source import ModelSource
from planner_app.jobs import interpreter as python

DEMO = data.FOLDER / "demo.keras"
FIRST_DEVICE = "NVIDIA L4"
SIZE = (1280, 800)


class App(QObject):
    """The window appears at once; chart and panels are built while it is already of use.

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
        self._furniture = Furniture(self.session, self.appearance, log_scale=self.settings.log_scale)
        self.panels: dict[str, Panel] = {}
        self._docks: dict[Dock, Qt.DockWidgetArea] = {}
        self.keeps_layout = True
        self._to_reopen: list[ModelSource] = []
        self._make_centre()
        self.actions = actions.Actions(self)
        self.window = MainWindow(self.centre, self.actions.menus(), TabStyle())
        self.window.resize(*SIZE)
        self.opener = Opener(self.session, self.window)
        self._status = StatusPresenter(self.session, self.window.statusBar())
        self._connect()
        self.empty.show_recent(tuple(each.recent for each in self.settings.remembered))
        if notice := warning or self._file.notice():
            self._status.say(notice)

    def _make_centre(self) -> None:
        headline = HeadlineView(self.appearance.theme)
        self.headline = HeadlinePresenter(self.session, headline, self.appearance)
        log, self.log = make_log(self.session, self.appearance)
        self.log_panel = log_panel(log, self.log)
        self.centre = CentreView(headline, log, self.appearance.theme)
        self._centre = CentrePresenter(self.session, self.centre, self.appearance)
        self.empty = self.centre.first

    def _connect(self) -> None:
        opener, first, log = self.opener, self.empty, self.log
        first.open_clicked.connect(opener.ask_for_file)
        first.demo_clicked.connect(self.open_demo)
        first.log_clicked.connect(self.show_log)
        first.python_clicked.connect(self.ask_for_python)
        first.recent_clicked.connect(self.open)
        for shown in (first, self.centre.notice):
            shown.remedy_clicked.connect(opener.cure)
        log.model_wanted.connect(opener.ask_for_file)
        log.named.connect(self._centre.show_log)
        log.other_file_given.connect(opener.open, Qt.ConnectionType.QueuedConnection)  # see `take`
        log.chart_wanted.connect(self._centre.show_model)
        opener.plan_given.connect(self._open_plan)
        opener.run_given.connect(lambda path: self.attempt(lambda: self.actions.tools.show_run(path)))
        opener.log_file_given.connect(log.read_file)
        opener.log_text_given.connect(log.read_text)
        self._centre.panels_wanted.connect(self._on_panels_wanted)
        self._centre.log_closed.connect(log.clear)
        self.headline.plan_wanted.connect(lambda: self.bring("Plan"))
        self.window.dropped.connect(opener.take)
        self.window.closed.connect(self.close)
        self._furniture.built.connect(self._on_built)
        self._furniture.finished.connect(self._place, Qt.ConnectionType.QueuedConnection)  # in a turn of its own
        self.session.opening_changed.connect(self._on_opening_changed)
        self.session.model_changed.connect(self._on_model_changed)

    def prepare(self) -> None:
        """Build panels in the background, before they are needed."""
        self._furniture.start()

    def furnish(self) -> None:
        """Put chart and panels into the window now, if they are not there yet."""
        self._furniture.finish()
        self._place(needed=True)

    def _on_built(self, panel: Panel) -> None:
        if panel.title != "Chart":
            self._docks[Dock(panel, self.window)] = panel.area

    def _place(self, *, needed: bool = False) -> None:
        """Once they are built, and something is there for them to show."""
        if self.panels or not self._furniture.is_complete or not (needed or self._centre.has_panels):
            return
        self.panels = self._furniture.panels
        self._centre.add_chart(self.panels["Chart"].widget)
        with held(self._docks):
            self.window.add(list(self._docks.items()), self.actions.toggles)
            self._arrange()
        for panel in (*self.panels.values(), self.log_panel):
            self.actions.offer_export(panel)

    # Menus and drops

    def open(self, path: str) -> None:
        """Open anything: a model's file or folder, a plan, a log; with what it was opened with last time."""
        known = self.settings.remembered_of(path)
        if known is not None and known.source != ModelSource(path):
            self.opener.open_source(known.source)
        else:
            self.opener.open(path)

    def open_demo(self) -> None:
        self.open(str(DEMO))

    def paste(self) -> None:
        """Text is a log, a file is opened."""
        if not self.opener.take(QGuiApplication.clipboard().mimeData()):
            self._status.say("The clipboard holds neither a log nor a file.")

    def reopen_last(self) -> None:
        """The models of the last session, the current one last. Code is only run when it is asked for."""
        known = [self.settings.remembered_of(path) for path in self.settings.open]
        sources = [each.source for each in known if each is not None and not each.source.runs_code]
        self._to_reopen = [source for source in sources if Path(source.path).exists()]
        self._reopen_next()

    def _reopen_next(self) -> None:
        if self._to_reopen:
            source = self._to_reopen.pop(0)
            self.session.open(source.path, source.custom, source.trust, source.data)

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
        if (model := self.session.model) is not None:
            source = model.source
            self.session.open(source.path, source.custom, source.trust, source.data)

    def close_tab(self) -> None:
        if self._centre.on_log:
            self._centre.close_log()
        elif (model := self.session.model) is not None:
            self.session.close_model(model)

    def show_log(self) -> None:
        self._centre.show_log(self.log.values.log)

    def bring(self, title: str) -> None:
        """Show a panel, leaving the log's page."""
        self.furnish()
        self._centre.want_panels()
        self.window.bring(title)

    def panel_in_focus(self) -> Panel:
        """The panel with keyboard focus, or the chart."""
        if self._centre.on_log:
            return self.log_panel
        focus = QApplication.focusWidget()
        for panel in self.panels.values():
            if focus is not None and (panel.widget is focus or panel.widget.isAncestorOf(focus)):
                return panel
        self.furnish()
        return self.panels["Chart"]

    def find(self) -> None:
        """Search the panel in focus, or else the layers."""
        search = self.panel_in_focus().find if self.panels else None
        if search is None and "Layers" in self.panels:
            self.window.bring("Layers")
            search = self.panels["Layers"].find
        if search is not None:
            search()

    def save_report(self, path: str) -> None:
        from planner_app.gui.report import ReportMaker  # draws, which takes half a second to import

        self.furnish()
        report = ReportMaker(self.session, self)
        report.saved.connect(lambda path: self._status.say(f"Saved the report: {path}"))
        report.failed.connect(lambda why: warn(self.window, why))
        report.save(path, self.panels)

    def attempt(self, action: Callable[[], object]) -> None:
        """Do it, and report why if it can't be done."""
        try:
            action()
        except PlannerError as error:
            warn(self.window, str(error))

    def close(self) -> None:
        """Save the settings and end all work, so that no process is left."""
        self._furniture.stop()
        geometry, layout = self.settings.geometry, self.settings.layout
        if self.panels and self.keeps_layout:
            geometry, layout = self.window.layout_state()
        choice = self.session.choice
        self._remember()
        current = self.session.model
        models = [model for model in self.session.models if model is not current]
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
            open=tuple(model.source.path for model in (*models, *([current] if current else []))),
        )
        if trouble := self._file.write(self.settings, self._opened):
            sys.stderr.write(f"plimsoll: {for_line(trouble)}\n")
        self.session.close()

    def _remember(self) -> None:
        settings = self.settings
        told = [
            remember(model, settings.remembered_of(model.source.path), _written(model.history.now.device))
            for model in self.session.models
        ]
        self.settings = settings.with_remembered(told)

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
            heights = {title: max(250, self.window.height() // 3) for area, title in first.items() if area not in sides}
            for title in first.values():
                self.window.bring(title)
            self.window.arrange(widths, heights)

    def _open_plan(self, path: str) -> None:
        self.bring("Plan")
        show = self.panels["Plan"].open
        assert show is not None
        show(path)

    def _on_python_chosen(self, path: str) -> None:
        self.settings = msgspec.structs.replace(self.settings, python=path)
        warning = self._file.write(self.settings)
        self._status.say(warning or (f"Workers now run in {path}." if path else "Plimsoll will look for a Python."))
        if self.session.opened is None and not self.session.opening:
            self.empty.show_welcome()
            self.opener.again()

    def _on_python_found(self, found: python.Python) -> None:
        if found.problem and self.session.opened is None and not self.session.opening:
            self.empty.show_no_python(found.problem)

    def _on_panels_wanted(self, on: bool) -> None:
        if self.panels:
            self.window.show_docks(on)
        elif on:
            QTimer.singleShot(0, self._place)  # in a turn of its own, so that the window responds in between

    def _on_opening_changed(self) -> None:
        if self.session.opening:
            self._furniture.start()
        else:
            QTimer.singleShot(0, self._reopen_next)

    def _on_model_changed(self) -> None:
        session = self.session
        model = session.model
        name = model.source.name if model is not None else ""
        self.window.setWindowTitle(f"{for_line(name)} - Plimsoll" if name else "Plimsoll")
        if model is None:
            self.empty.show_recent(tuple(each.recent for each in self.settings.remembered))
            return
        path = model.source.path
        if path != str(DEMO):
            before = self.settings.remembered_of(path)
            if before is not None and path not in self._opened:
                session.choose(before.chosen_again)
                session.forget_history()
            self._opened = [*(each for each in self._opened if each != path), path]
            self.settings = self.settings.with_recent(path)
            self._remember()
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
