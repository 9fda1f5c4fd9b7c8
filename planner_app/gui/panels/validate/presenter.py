"""Runs the panel's checks, one at a time, and shows the results on the chart."""

from collections.abc import Callable
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QFileDialog

from planner_app.core.compile.check import CompileCheck
from planner_app.core.hardware.machine import Machine
from planner_app.core.measure.calibration import sentence
from planner_app.core.measure.measurement import Step
from planner_app.core.measure.sample import why_not_calibrating
from planner_app.core.measure.search import Found, Try
from planner_app.core.model.setup import Setup
from planner_app.errors import PlannerError, SetupError
from planner_app.files.kept.calibrations import Calibrations
from planner_app.files.kept.measurements import write_measurement
from planner_app.gpu.nvml import machine_gpus
from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.background.task import Task
from planner_app.gui.frame.panel import Panel, Table
from planner_app.gui.look.theme import Appearance
from planner_app.gui.panels.validate import tasks
from planner_app.gui.panels.validate.values import Kind, Measured, Row, compiled_row, found_text, measured_row, try_text
from planner_app.gui.panels.validate.view import COLUMNS, ValidateView
from planner_app.gui.panels.validate.words import OnChart
from planner_app.gui.state.session import Session
from planner_app.jobs.protocol import Progress
from planner_app.planner.measuring.compare import calibrate_with
from planner_app.planner.measuring.training_runs import read_run
from planner_app.planner.planner import Planner


class ValidatePresenter(QObject):
    """Attributes:
    rows: The results for the open model, newest last.
    """

    def __init__(self, session: Session, view: ValidateView, appearance: Appearance) -> None:
        super().__init__(view)
        self._session, self._view, self._appearance = session, view, appearance
        self.slot = TaskSlot(session.start, self)
        self._results: list[Measured] = []
        self.rows: list[Row] = []
        self._share = 1
        session.model_changed.connect(self._on_model_changed)
        self.slot.progressed.connect(self._on_progressed)
        self.slot.partial.connect(self._on_partial)
        self.slot.failed.connect(self._on_failed)
        self.slot.stopped.connect(self._on_stopped)
        self.slot.ended.connect(lambda: view.show_working(False))
        appearance.changed.connect(self._paint)
        view.run_clicked.connect(self._on_run_clicked)
        view.cancel_clicked.connect(self._on_cancel_clicked)
        view.open_clicked.connect(self._on_open_clicked)
        view.save_clicked.connect(self._on_save_clicked)
        view.calibrate_clicked.connect(self._on_calibrate_clicked)
        self._paint()
        self._looking = Task(lambda _task: machine_gpus())  # a driver may be slow: the window does not wait
        self._looking.finished.connect(self._show_places)
        session.start(self._looking)

    @property
    def busy(self) -> bool:
        return self.slot.busy

    def table(self) -> Table:
        return Table(COLUMNS, [[getattr(row, name) for name in COLUMNS] for row in self.rows])

    def open_measurement(self, path: str) -> None:
        """Show a measurement from elsewhere, or a finished training run, next to the estimate for the open model."""
        measurement = read_run(Path(path))
        self._run(tasks.comparing(self._planner(), measurement))

    def _planner(self) -> Planner:
        if self._session.planner is None:
            raise SetupError("No model is open: open one first.")
        return self._session.planner

    def _work(self) -> tasks.Work:
        wanted, choice = self._view.wanted(), self._session.choice
        planner = self._planner()
        if wanted.kind is Kind.COMPILE:
            return tasks.compiling(planner, choice.setup, choice.device)
        setups = wanted.setups(choice.setup)
        self._share = setups[0].shares
        if wanted.kind is Kind.LARGEST:
            return tasks.searching(planner, wanted, setups[0])
        return tasks.measuring(planner, wanted, setups)

    def _run(self, work: tasks.Work) -> None:
        self.slot.run(work, self._on_finished)
        self._view.show_working(True)
        self._view.say("Starting a new process …")

    def _on_run_clicked(self) -> None:
        try:
            self._run(self._work())
        except PlannerError as error:
            self._view.show_trouble(str(error))

    def _on_cancel_clicked(self) -> None:
        if self.slot.busy:
            self._view.say("Cancelling …")
            self.slot.cancel()

    def _on_progressed(self, event: Progress) -> None:
        self._view.show_progress(event.done, event.of, event.text)
        for part in event.results:
            step = msgspec.json.decode(part, type=Step)
            self._view.show_step(max((memory.peak_bytes for memory in step.memory), default=0))

    def _on_partial(self, part: object) -> None:
        if isinstance(part, Measured):
            self._results.append(part)
            self._session.keep_measurement(part.measurement)
            self._add(measured_row(part, self._on_chart(part.measurement.setup)))
            if part.comparison is not None:
                compared = part.comparison
                self._view.show_expected(compared.low_bytes, compared.estimated_bytes, compared.high_bytes)
        elif isinstance(part, CompileCheck):
            memory = self._session.memory(part.setup)
            known = None if memory is None else memory.point(part.setup.per_gpu_batch).in_use_bytes
            self._session.keep_check(part)
            self._add(compiled_row(part, known))
        elif isinstance(part, Try):
            self._view.say(try_text(part))

    def _on_chart(self, setup: Setup) -> OnChart | None:
        """None if the chart has no figure for it yet."""
        device, need = self._session.choice.device, self._session.need(setup)
        batch = setup.per_gpu_batch
        if need is None or batch not in {point.batch for point in need.memory.points}:
            return None
        return OnChart(need.level(batch).peak_bytes, device.name, device.cuda, setup.gpus, need.memory.xla)

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        self._view.show_rows(self.rows, self._appearance.theme)
        self._view.say(" ".join(filter(None, (f"{row.setup}, {row.where}:", row.found, row.error))))
        self._view.log.appendPlainText(row.detail)

    def _on_finished(self, found: Found | None) -> None:
        self._view.say(found_text(found, self._share) if found is not None else "Done.")

    def _on_failed(self, why: str, detail: str) -> None:
        self._view.say(why)
        if detail:
            self._view.log.appendPlainText(detail)
        self._view.show_trouble(why)

    def _on_stopped(self) -> None:
        self._view.say("Cancelled; earlier results are kept.")

    def _on_open_clicked(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self._view, "Open a measurement", "", "Measurements (*.json)")
        if path:
            self._attempt(lambda: self.open_measurement(path))

    def _on_save_clicked(self) -> None:
        if not self._results:
            self._view.show_trouble("Nothing has been measured yet.")
            return
        path, _ = QFileDialog.getSaveFileName(self._view, "Save the last measurement", "measured.json", "*.json")
        if path:
            self._attempt(lambda: write_measurement(Path(path), self._results[-1].measurement))

    def _on_calibrate_clicked(self) -> None:
        reasons = [why_not_calibrating(each.measurement) for each in self._results]
        useful = [
            (each.measurement, each.comparison)
            for each, reason in zip(self._results, reasons, strict=True)
            if not reason and each.comparison is not None
        ]
        if not useful:
            self._view.show_trouble(next(filter(None, reasons), "Nothing has been measured yet to calibrate with."))
            return
        store = Calibrations()

        def keep() -> None:
            for measurement, comparison in useful:
                self._view.say(sentence(calibrate_with(store, measurement, comparison)))

        self._attempt(keep)
        self._session.calibrate()

    def _attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except PlannerError as error:
            self._view.show_trouble(str(error))

    def _on_model_changed(self) -> None:
        self.slot.drop()
        self._results.clear()
        self.rows.clear()
        self._view.show_rows([], self._appearance.theme)

    def _paint(self) -> None:
        self._view.set_theme(self._appearance.theme)
        self._view.show_rows(self.rows, self._appearance.theme)

    def _show_places(self, machine: Machine) -> None:
        usable = [(f"gpu:{gpu.index}", gpu.name or "") for gpu in machine.usable_gpus]
        every = ",".join(str(gpu.index) for gpu in machine.usable_gpus)
        several = [(f"gpu:{every}", "all GPUs")] if len(usable) > 1 else []
        self._view.show_places([("cpu", "with the GPUs' allocator"), *usable, *several])


def make(session: Session, appearance: Appearance) -> Panel:
    view = ValidateView()
    presenter = ValidatePresenter(session, view, appearance)
    area = Qt.DockWidgetArea.BottomDockWidgetArea
    return Panel("Validate", view, area, picture=view.table, table=presenter.table, shortcut="Alt+8")
