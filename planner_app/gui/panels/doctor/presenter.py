"""Reads a log, shows what happened, and compares it with the estimate for the open model."""

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog

from planner_app.core.doctor import Diagnosis
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup
from planner_app.errors import DeviceError
from planner_app.files.kinds import Kind, kind_of
from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.background.task import Task
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.doctor import tasks
from planner_app.gui.panels.doctor.values import Beside, DoctorValues, Log, as_limited, failed_run, fill_text
from planner_app.gui.panels.doctor.view import DoctorView
from planner_app.gui.state.session import Session
from planner_app.jobs.protocol import Progress
from planner_app.planner.diagnose import device_in_log, filled_in

Result = TypeVar("Result")
LOGS = "Logs (*.log *.txt *.out *.err *.ipynb *.gz *.bz2 *.xz *.zip *.tar);;All files (*)"


class DoctorPresenter(QObject):
    model_wanted = Signal()  # to compare with
    named = Signal(str)  # the log that is shown now; empty if none is
    other_file_given = Signal(str)  # dropped or pasted there, but not a log
    chart_wanted = Signal()  # the setup that failed has been chosen there

    def __init__(self, session: Session, view: DoctorView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        self.slot = TaskSlot(session.start, self)
        self._log: Log | None = None
        self._layers: tuple[str, ...] = ()  # used to read the log
        self._found: Diagnosis | None = None
        self._beside: Beside | None = None
        self._waits = False  # for the model, to show the setup that failed in its chart
        self.values = DoctorValues()
        for signal in (session.model_changed, view.shown):
            signal.connect(self._on_model_changed)
        session.choice_changed.connect(self._show)
        self.slot.progressed.connect(self._on_progressed)
        self.slot.failed.connect(self._on_failed)
        self.slot.stopped.connect(self._on_stopped)
        self.slot.ended.connect(lambda: view.show_working(""))
        appearance.changed.connect(lambda: view.set_theme(appearance.theme))
        view.file_given.connect(self._on_file_given)
        view.text_given.connect(self._on_text_given)
        view.open_clicked.connect(self._on_open_clicked)
        view.model_clicked.connect(self._on_model_clicked)
        view.cleared.connect(self.clear)
        view.cancel_clicked.connect(self._on_cancel_clicked)
        view.fill_clicked.connect(self._on_fill_clicked)
        view.compare_clicked.connect(self._compare)

    @property
    def busy(self) -> bool:
        return self.slot.busy

    def table(self) -> Table:
        evidence = self._found.evidence if self._found is not None else ()
        return Table(("line", "text"), [(each.line, each.text) for each in evidence])

    def read_file(self, path: str) -> None:
        self._waits = False
        self._view.empty()
        self._read(Log(path=path))

    def read_text(self, text: str) -> None:
        self._waits = False
        self._view.empty()
        self._read(Log(text=text))

    # Working

    def _read(self, log: Log) -> None:
        self._log, self._found, self._beside = log, None, None
        self.named.emit(log.name)
        self._layers = layers = tasks.layers_of(self._session.description)

        self._start("Reading the log …", lambda task: tasks.read(log, layers, task), self._on_read)
        self._show()

    def _on_read(self, found: Diagnosis) -> None:
        self._found = found
        self._show()
        if self._waits and self._session.description is not None:
            self._waits = False
            self._on_fill_clicked()
        self._compare()

    def _compare(self) -> None:
        """Compare with the estimate, if a model is open and the log mentions a device's memory."""
        found, session = self._found, self._session
        if not self._view.isVisible():
            return
        wanted, description, planner = self._wanted(), session.description, session.planner
        if found is None or wanted is None or description is None or planner is None:
            return
        self._start(
            "Comparing it with the estimate …",
            lambda task: tasks.beside(found, planner, description, wanted, task),
            self._on_compared,
        )

    def _on_compared(self, beside: Beside) -> None:
        self._beside = beside if beside.compared is not None or beside.trouble else None
        self._show()

    def _wanted(self) -> tuple[Setup, Device] | None:
        """The chosen setup and device, updated from the log."""
        description, choice = self._session.description, self._session.choice
        if self._found is None or description is None:
            return None
        try:
            device = as_limited(device_in_log(self._found), self._found)
        except DeviceError:
            device = choice.device
        return filled_in(choice.setup, self._found, description), device

    def _show(self) -> None:
        beside = self._beside
        wanted = self._wanted() if self._found is not None and self._found.kind.on_device else None
        values = DoctorValues(
            log=self._log.name if self._log is not None else "",
            found=self._found,
            beside=beside,
            fill=self._fill_text(*wanted) if wanted is not None else "",
            stale=beside is not None and wanted is not None and wanted != (beside.setup, beside.device),
            has_model=self._session.opened is not None,
        )
        if values != self.values:
            self.values = values
            self._view.show_values(values, self._appearance.theme)

    def _fill_text(self, setup: Setup, device: Device) -> str:
        run = self._session.failed_run
        marked = run is not None and (run.setup, run.device) == (setup, device)
        return fill_text(self._session.choice, setup, device) or ("" if marked else "as it is chosen")

    def _start(self, doing: str, work: Callable[[Task], Result], finished: Callable[[Result], None]) -> None:
        self.slot.run(work, finished)
        self._view.show_working(doing)

    # Signals

    def _on_file_given(self, path: str) -> None:
        if kind_of(path) is Kind.LOG:
            self.read_file(path)
        else:
            self.other_file_given.emit(path)

    def _on_text_given(self, text: str) -> None:
        self._waits = False
        if text.strip():
            self._read(Log(text=text))
        elif self._log is not None and not self._log.path:
            self.clear()

    def _on_open_clicked(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self._view, "Open a training log", "", LOGS)
        if path:
            self.read_file(path)

    def clear(self) -> None:
        self.slot.drop()
        self._view.empty()
        self._log = self._found = self._beside = None
        self._show()

    def _on_cancel_clicked(self) -> None:
        if self.slot.busy:
            self._view.say("Cancelling …")
            self.slot.cancel()

    def _on_fill_clicked(self) -> None:
        wanted, found = self._wanted(), self._found
        if wanted is not None and found is not None and self._log is not None:
            self._session.mark_failed_run(failed_run(self._log.name, found, *wanted))
            self.chart_wanted.emit()
            self._show()

    def _on_model_clicked(self) -> None:
        self._waits = True
        self.model_wanted.emit()

    def _on_progressed(self, event: Progress) -> None:
        self._view.show_progress(event.done, event.of, event.text)

    def _on_failed(self, why: str, detail: str) -> None:
        self._view.say(why, trouble=True)

    def _on_stopped(self) -> None:
        self._view.say("Cancelled.")

    def _on_model_changed(self) -> None:
        """Layer names and the estimate depend on the open model."""
        description = self._session.description
        if description is None and self._beside is not None:
            self.slot.drop()
            self._beside = None
        seen = self._view.isVisible() or (self._waits and description is not None)
        if self._log is not None and seen and tasks.layers_of(description) != self._layers:
            self._read(self._log)
        elif seen and self._beside is None and not self.slot.busy:
            self._compare()
        self._show()


def make(session: Session, appearance: Appearance) -> tuple[DoctorView, DoctorPresenter]:
    view = DoctorView(appearance.theme)
    return view, DoctorPresenter(session, view, appearance)


def panel_of(view: DoctorView, presenter: DoctorPresenter) -> Panel:
    return Panel("Log", view, Qt.DockWidgetArea.NoDockWidgetArea, picture=view, table=presenter.table)
