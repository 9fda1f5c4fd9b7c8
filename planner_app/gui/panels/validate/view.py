"""The fields, the plot of steps or the log, and the results of the validate panel."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSpinBox,
    QSplitter,
    QStackedWidget,
    QTableWidget,
    QTableWidgetItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from planner_app.gui.look.plain_label import PlainLabel, plain_tip
from planner_app.gui.look.theme import LIGHT, Theme
from planner_app.gui.panels.validate.steps import StepsPlot
from planner_app.gui.panels.validate.values import Kind, Row, Wanted

COLUMNS = ("setup", "where", "estimated", "found", "error", "speed")
IDLE = "Run trains a few steps of the chosen setup: each one's peak is drawn here, beside the estimate."


class ValidateView(QWidget):
    run_clicked = Signal()
    cancel_clicked = Signal()
    open_clicked = Signal()
    save_clicked = Signal()
    calibrate_clicked = Signal()
    kind_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 6, 8, 6)
        row.setSpacing(12)
        row.addLayout(self._fields())
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.addWidget(self._live())
        splitter.addWidget(self._results())
        splitter.setSizes([440, 520])
        row.addWidget(splitter, 1)
        self._on_kind_changed()
        self.show_working(False)

    def _fields(self) -> QVBoxLayout:
        self.kind = QComboBox()
        self.kind.addItems([str(kind) for kind in Kind])
        self.kind.setAccessibleName("What to check")
        self.place = QComboBox()
        self.place.setEditable(True)
        self.place.addItem("cpu")
        self.place.setAccessibleName("Where: cpu, gpu:0, or several as in gpu:0,1")
        self.place.setToolTip("cpu, gpu:0, or several as in gpu:0,1")
        self.limit, self.batches = QLineEdit(), QLineEdit("32, 64, 128")
        self.limit.setPlaceholderText("none, or as in 8GiB")
        self.limit.setAccessibleName("Memory limit of the allocator")
        self.limit.setToolTip("What TensorFlow's allocator may take: on the CPU it imitates a GPU's memory.")
        self.batches.setAccessibleName("Batches to measure")
        self.processes = QSpinBox()
        self.processes.setRange(1, 50)
        self.processes.setAccessibleName("New processes for each point")
        self.processes.setToolTip("New processes for each point, since the peak varies between them.")
        self.one_by_one = QCheckBox("Kernels one by one, as on a GPU")
        self.one_by_one.setChecked(True)
        self.one_by_one.setToolTip("On the CPU: the order of a GPU, identical to the byte in every process.")
        self.form = QFormLayout()
        for label, field in (("Chec&k", self.kind), ("&On", self.place), ("&Limit", self.limit)):
            self.form.addRow(label, field)
        self.form.addRow("B&atches", self.batches)
        self.form.addRow("&Processes", self.processes)
        self.form.addRow(self.one_by_one)
        self.run, self.cancel = QPushButton("&Run"), QPushButton("Cance&l")
        self.run.clicked.connect(self.run_clicked)
        self.cancel.clicked.connect(self.cancel_clicked)
        buttons = QHBoxLayout()
        buttons.addWidget(self.run)
        buttons.addWidget(self.cancel)
        self.trouble = PlainLabel()
        self.trouble.setWordWrap(True)
        self.trouble.hide()
        self.kind.currentIndexChanged.connect(self._on_kind_changed)
        column = QVBoxLayout()
        column.addLayout(self.form)
        column.addLayout(buttons)
        column.addWidget(self.trouble)
        column.addStretch(1)
        return column

    def _live(self) -> QWidget:
        self.bar, self.doing = QProgressBar(), PlainLabel(IDLE)
        self.bar.setTextVisible(False)
        self.doing.setWordWrap(True)
        self.steps = StepsPlot(LIGHT)
        self.log = QPlainTextEdit()
        self.log.setReadOnly(True)
        self.log.setMaximumBlockCount(2000)
        self.log.setAccessibleName("Log")
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        self.log_button = QToolButton()
        self.log_button.setText("Log")
        self.log_button.setCheckable(True)
        self.log_button.setToolTip("Show the log instead of the plot")
        self.log_button.setAccessibleName(self.log_button.toolTip())
        pages = QStackedWidget()
        pages.addWidget(self.steps)
        pages.addWidget(self.log)
        self.log_button.toggled.connect(lambda on: pages.setCurrentIndex(int(on)))
        top = QHBoxLayout()
        top.addWidget(self.doing, 1)
        top.addWidget(self.log_button, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(top)
        column.addWidget(self.bar)
        column.addWidget(pages, 1)
        return page

    def _results(self) -> QWidget:
        self.table = QTableWidget(0, len(COLUMNS))
        self.table.setHorizontalHeaderLabels([column.capitalize() for column in COLUMNS])
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 8)
        self.table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self.table.setAccessibleName("Estimated and measured peaks")
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.table.currentCellChanged.connect(self._on_row_chosen)
        self.detail = PlainLabel()
        self.detail.setWordWrap(True)
        self.detail.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.detail.setAlignment(Qt.AlignmentFlag.AlignTop)
        around = QScrollArea()
        around.setWidget(self.detail)
        around.setWidgetResizable(True)
        around.setFrameShape(QFrame.Shape.NoFrame)
        around.setAccessibleName("Details of the result")
        self.open_button, self.save_button = QPushButton("Open a measurement …"), QPushButton("Save …")
        self.calibrate_button = QPushButton("Calibrate")
        self.calibrate_button.setToolTip("Calibrate later estimates for this device with the measurements.")
        row = QHBoxLayout()
        for button, signal in (
            (self.open_button, self.open_clicked),
            (self.save_button, self.save_clicked),
            (self.calibrate_button, self.calibrate_clicked),
        ):
            button.clicked.connect(signal)
            row.addWidget(button)
        row.addStretch(1)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.table, 3)
        column.addWidget(around, 4)
        column.addLayout(row)
        return page

    # Showing

    def wanted(self) -> Wanted:
        return Wanted(
            kind=Kind(self.kind.currentText()),
            place=self.place.currentText(),
            limit=self.limit.text(),
            batches=self.batches.text(),
            processes=self.processes.value(),
            one_by_one=self.one_by_one.isChecked(),
        )

    def show_places(self, places: Sequence[tuple[str, str]]) -> None:
        """The places to measure on, as the field accepts them, with a description."""
        chosen = self.place.currentText()
        self.place.clear()
        for number, (place, name) in enumerate(places):
            self.place.addItem(place)
            self.place.setItemData(number, plain_tip(name), Qt.ItemDataRole.ToolTipRole)
        self.place.setCurrentText(chosen or "cpu")

    def show_working(self, working: bool) -> None:
        self.run.setEnabled(not working)
        self.cancel.setEnabled(working)
        self.bar.setVisible(working)
        if working:
            self.steps.clear_steps()
            self.show_trouble("")

    def show_progress(self, done: int, of: int, text: str) -> None:
        self.bar.setRange(0, of)
        self.bar.setValue(done)
        self.doing.setText(text)

    def show_step(self, peak_bytes: int) -> None:
        self.steps.add_step(peak_bytes)

    def show_expected(self, low_bytes: int, peak_bytes: int, high_bytes: int) -> None:
        self.steps.show_expected(low_bytes, peak_bytes, high_bytes)

    def say(self, line: str) -> None:
        self.log.appendPlainText(line)
        self.doing.setText(line)

    def show_trouble(self, sentence: str) -> None:
        self.trouble.setText(sentence)
        self.trouble.setVisible(bool(sentence))

    def show_rows(self, rows: Sequence[Row], theme: Theme) -> None:
        self.table.setRowCount(len(rows))
        for number, row in enumerate(rows):
            for column, name in enumerate(COLUMNS):
                item = QTableWidgetItem(getattr(row, name))
                if name in ("estimated", "found", "error", "speed"):
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                if row.bad:
                    item.setForeground(QColor(theme.bad))
                item.setToolTip(plain_tip(row.detail))
                self.table.setItem(number, column, item)
        self._details = [row.detail for row in rows]
        self._on_row_chosen()

    def set_theme(self, theme: Theme) -> None:
        self.steps.set_theme(theme)
        palette = self.trouble.palette()
        palette.setColor(palette.ColorRole.WindowText, QColor(theme.bad))
        self.trouble.setPalette(palette)

    def _on_kind_changed(self) -> None:
        kind = Kind(self.kind.currentText())
        for field in (self.place, self.limit, self.processes, self.one_by_one):
            self.form.setRowVisible(field, kind is not Kind.COMPILE)
        self.form.setRowVisible(self.batches, kind is Kind.SERIES)
        self.kind_changed.emit()

    def _on_row_chosen(self) -> None:
        details = getattr(self, "_details", [])
        row = self.table.currentRow() if self.table.currentRow() >= 0 else len(details) - 1
        self.detail.setText(details[row] if 0 <= row < len(details) else "")
