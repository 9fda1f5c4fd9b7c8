"""The dialog of the self-test: small models, estimated and measured on one device."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDoubleSpinBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from planner_app.core.measure.selftest import Check, SelfTest
from planner_app.gui.look.paper import Paper, facts, paragraph
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.theme import Theme
from planner_app.units import format_bytes

SIZE = (680, 420)
WHAT_FOR = (
    "Small models are estimated and then measured, each in a process of its own: how far off are estimates on this "
    "device? What is found can calibrate later estimates."
)


class SelfTestView(QDialog):
    run_clicked = Signal(str, float)  # where, minutes
    cancel_clicked = Signal()
    calibrate_clicked = Signal()
    save_clicked = Signal()

    def __init__(self, parent: QWidget, theme: Theme, minutes: float) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setWindowTitle("Self-test")
        self.resize(*SIZE)
        self.place, self.minutes = QComboBox(editable=True), QDoubleSpinBox(decimals=1)
        self.place.addItems(["cpu", "gpu:0"])
        self.place.setAccessibleName("Where: cpu or gpu:0")
        self.minutes.setRange(0.1, 120)
        self.minutes.setValue(minutes)
        self.minutes.setAccessibleName("Minutes to take")
        self.run, self.cancel = QPushButton("&Run"), QPushButton("&Cancel")
        self.calibrate, self.save = QPushButton("C&alibrate with it"), QPushButton("&Save …")
        self.bar, self.doing = QProgressBar(textVisible=False), PlainLabel(wordWrap=True)
        self.bar.setRange(0, 0)
        self.paper = Paper("What the self-test found")
        self._lay_out()
        self.run.clicked.connect(lambda: self.run_clicked.emit(self.place.currentText(), self.minutes.value()))
        self.cancel.clicked.connect(self.cancel_clicked)
        self.calibrate.clicked.connect(self.calibrate_clicked)
        self.save.clicked.connect(self.save_clicked)
        self.show_working(False)
        self.show_found(None)

    def _lay_out(self) -> None:
        form, row, column = QFormLayout(), QHBoxLayout(), QVBoxLayout(self)
        for text, field in (("&On", self.place), ("&Minutes", self.minutes)):
            label = QLabel(text)
            label.setBuddy(field)
            form.addRow(label, field)
        for button in (self.run, self.cancel, self.calibrate, self.save):
            row.addWidget(button)
        row.addStretch(1)
        column.addWidget(PlainLabel(WHAT_FOR, wordWrap=True))
        column.addLayout(form)
        column.addWidget(self.paper, 1)
        column.addWidget(self.bar)
        column.addWidget(self.doing)
        column.addLayout(row)

    def show_working(self, working: bool) -> None:
        self.bar.setVisible(working)
        self.run.setEnabled(not working)
        self.cancel.setEnabled(working)

    def say(self, text: str) -> None:
        self.doing.setText(text)

    def show_found(self, found: SelfTest | None) -> None:
        for button in (self.calibrate, self.save):
            button.setEnabled(found is not None and bool(found.compared))
        if found is None:
            self.paper.show_text("")
            return
        rows = [_cells(check) for check in found.checks]
        table = facts(rows, self._theme, ("model", "estimated", "measured", "error", "off most"))
        left = f"No time was left for {', '.join(found.left_out)}." if found.left_out else ""
        self.paper.show_text(paragraph(found.verdict, bold=True) + table + paragraph(left, self._theme.warn))


def _cells(check: Check) -> tuple[str, ...]:
    comparison = check.comparison
    if comparison is None:
        return check.model, "-", "-", "-", check.problem
    measured = sorted(comparison.measured_bytes)[len(comparison.measured_bytes) // 2]
    off = f"{check.off[0]} by {format_bytes(abs(check.off[1]))}" if check.off and check.off[1] else ""
    estimated = format_bytes(comparison.estimated_bytes)
    return check.model, estimated, format_bytes(measured), f"{comparison.error:+.1%}", off
