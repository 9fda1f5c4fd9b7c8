"""The Tools menu: self-test, calibrations and results of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from planner_app.core.measure.calibration import Calibration, sentence
from planner_app.core.measure.measurement import parse_place
from planner_app.core.measure.selftest import SelfTest
from planner_app.errors import PlannerError
from planner_app.files.kept.calibrations import Calibrations
from planner_app.files.kept.selftests import write_page, write_selftest
from planner_app.gui.background.slot import TaskSlot
from planner_app.gui.background.task import Task
from planner_app.gui.look.plain_label import agreed, warn
from planner_app.gui.panels.tools.calibrations import CalibrationsView
from planner_app.gui.panels.tools.selftest import SelfTestView
from planner_app.jobs.protocol import Progress

if TYPE_CHECKING:
    from planner_app.gui.app import App
    from planner_app.gui.panels.tools.run import RunView

JSON = "JSON files (*.json)"


class ToolsPresenter(QObject):
    """Attributes:
    calibrations, selftest, run: Their dialogs; None before they are first shown.
    """

    def __init__(self, app: App) -> None:
        super().__init__(app)
        self._app = app
        self.calibrations: CalibrationsView | None = None
        self.selftest: SelfTestView | None = None
        self.run: RunView | None = None
        self._found: tuple[SelfTest, tuple[Calibration, ...]] | None = None
        self.slot = TaskSlot(app.session.start, self)
        self.slot.progressed.connect(self._on_progressed)
        self.slot.failed.connect(lambda why, _: self._say(why))
        self.slot.stopped.connect(lambda: self._say("Cancelled."))
        self.slot.ended.connect(self._on_ended)

    # Calibrations

    def show_calibrations(self) -> None:
        if self.calibrations is None:
            view = self.calibrations = CalibrationsView(self._app.window)
            view.forget_clicked.connect(self._on_forget_clicked)
            view.export_clicked.connect(self._on_export_clicked)
            view.import_clicked.connect(self._on_import_clicked)
        self._show_list()
        self.calibrations.show()
        self.calibrations.raise_()

    def import_calibrations(self, path: str) -> None:
        taken = Calibrations().import_file(Path(path))
        self._changed(" ".join(dict.fromkeys(map(sentence, taken))) or "Nothing to import.")

    def export_calibrations(self, path: str) -> None:
        count = Calibrations().export(Path(path))
        self._show_list(f"Wrote {count} calibrations to {path}.")

    def _show_list(self, said: str = "") -> None:
        if self.calibrations is not None:
            self.calibrations.show_calibrations(Calibrations().all(), said)

    def _changed(self, said: str) -> None:
        self._app.session.calibrate()
        self._show_list(said)

    def _on_forget_clicked(self, device: str) -> None:
        assert self.calibrations is not None
        if device and agreed(self.calibrations, "Forget", f"Forget what was measured on {device}?"):
            gone = Calibrations().forget(device)
            self._changed(f"{gone} calibrations forgotten.")

    def _on_export_clicked(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self.calibrations, "Export", "calibrations.json", JSON)
        if path:
            self._app.attempt(lambda: self.export_calibrations(path))

    def _on_import_clicked(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self.calibrations, "Calibrations of another machine", "", JSON)
        if path:
            self._app.attempt(lambda: self.import_calibrations(path))

    # Results of `plimsoll run`

    def ask_for_run(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self._app.window, "Results of a run", "", "Results of a run (run.json)")
        if path:
            self.show_run(path)

    def show_run(self, path: str) -> None:
        """`run.json`, which lies beside the checkpoints of the run."""
        from planner_app.gui.panels.tools.run import RunView
        from planner_app.train.recover.report import read_report

        report = read_report(Path(path).parent)
        if report is not None:
            view = self.run = RunView(self._app.window, report, self._app.appearance.theme)
            view.show()

    # The self-test

    def show_selftest(self) -> None:
        from planner_app.planner.measuring.selftest import MINUTES

        if self.selftest is None:
            view = self.selftest = SelfTestView(self._app.window, self._app.appearance.theme, MINUTES)
            view.run_clicked.connect(self._on_run_clicked)
            view.cancel_clicked.connect(self.slot.cancel)
            view.calibrate_clicked.connect(self._on_calibrate_clicked)
            view.save_clicked.connect(self._on_save_clicked)
        self.selftest.show()
        self.selftest.raise_()

    def _on_run_clicked(self, where: str, minutes: float) -> None:
        from planner_app.planner.measuring.selftest import selftest

        assert self.selftest is not None
        try:
            place = parse_place(where)
        except PlannerError as error:
            warn(self.selftest, str(error))
            return

        def work(task: Task) -> tuple[SelfTest, tuple[Calibration, ...]]:
            return selftest(place, minutes=minutes, on_progress=task.report, cancelled=task.cancelled)

        self.slot.run(work, self._on_finished)
        self.selftest.show_working(True)
        self._say("Starting …")

    def _on_progressed(self, event: Progress) -> None:
        self._say(event.text)

    def _on_finished(self, found: tuple[SelfTest, tuple[Calibration, ...]]) -> None:
        self._found = found
        self._say("")
        if self.selftest is not None:
            self.selftest.show_found(found[0])

    def _on_ended(self) -> None:
        if self.selftest is not None:
            self.selftest.show_working(False)

    def _on_calibrate_clicked(self) -> None:
        if self._found is not None:
            calibrations = self._found[1]
            Calibrations().take_in(calibrations)
            self._changed("")
            self._say(" ".join(dict.fromkeys(map(sentence, calibrations))))

    def _on_save_clicked(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self.selftest, "Save the self-test", "selftest.json", JSON)
        if path and self._found is not None:
            self._app.attempt(lambda: self.save_selftest(path))

    def save_selftest(self, path: str) -> None:
        """The file that calibrates another machine, and a page beside it."""
        from planner_app.reports.html.selftest_page import selftest_page

        if self._found is not None:
            found, calibrations = self._found
            write_selftest(Path(path), found, calibrations)
            write_page(Path(path).with_suffix(".html"), selftest_page(found).encode())
            self._say(f"Saved {path} and its page.")

    def _say(self, text: str) -> None:
        if self.selftest is not None:
            self.selftest.say(text)
