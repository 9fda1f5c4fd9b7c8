"""The fleet panel: where the cluster is and what to do there on the left, its machines on the right."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from planner_app.gui.look.paper import tint
from planner_app.gui.look.plain_label import PlainLabel, plain_tip
from planner_app.gui.look.table.bars import RIGHT
from planner_app.gui.look.table.plain_table import make_plain
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.fleet.values import COLUMNS, FleetValues, Row

LEFT, ROW = 250, 22
GPUS, NUMBERS, MEASURED = 1, (2, 6, 7, 8), 6


class FleetTable(QTableWidget):
    def __init__(self) -> None:
        super().__init__(0, len(COLUMNS))
        self.setHorizontalHeaderLabels(list(COLUMNS))
        self.setAccessibleName("Machines of the cluster")
        make_plain(self, ROW)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(GPUS, QHeaderView.ResizeMode.Stretch)

    def show_rows(self, rows: Sequence[Row], theme: Theme) -> None:
        chosen = max(self.currentRow(), 0)
        self.blockSignals(True)
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            for column, text in enumerate(row.cells):
                self.setItem(number, column, _item(row, column, text, theme))
        if rows:
            self.setCurrentCell(min(chosen, len(rows) - 1), 0)
        self.blockSignals(False)


def _item(row: Row, column: int, text: str, theme: Theme) -> QTableWidgetItem:
    item = QTableWidgetItem(text)
    item.setToolTip(plain_tip(row.tip))
    if column in NUMBERS:
        item.setTextAlignment(RIGHT)
    if not row.able:
        item.setForeground(QColor(theme.muted))
    elif row.failed and column == MEASURED:
        item.setForeground(QColor(theme.bad))
    return item


class FleetView(QWidget):
    list_clicked = Signal()
    measure_clicked = Signal(Row)
    test_clicked = Signal(Row)
    cancel_clicked = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._values = theme, FleetValues()
        self._trouble = self._working = False
        self.table, self.note = FleetTable(), PlainLabel(wordWrap=True)
        self.note.setAlignment(Qt.AlignmentFlag.AlignTop)
        right = QVBoxLayout()
        right.setSpacing(4)
        right.addWidget(self.note)
        right.addWidget(self.table, 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 6, 8, 6)
        row.setSpacing(10)
        row.addWidget(self._fields())
        row.addLayout(right, 1)
        self.look.clicked.connect(self.list_clicked)
        self.address.returnPressed.connect(self.list_clicked)
        self.measure.clicked.connect(lambda: self._on_chosen(self.measure_clicked))
        self.test.clicked.connect(lambda: self._on_chosen(self.test_clicked))
        self.cancel.clicked.connect(self.cancel_clicked)
        self.table.currentCellChanged.connect(lambda *_: self._enable())
        self.show_working(False)
        self.show_values(self._values, theme)

    def _fields(self) -> QWidget:
        self.address = QLineEdit(placeholderText="this machine's cluster")
        self.address.setToolTip("Where Ray's head is, as in 10.0.0.5:6379")
        self.address.setAccessibleName("Address of the Ray cluster")
        self.limit = QLineEdit(placeholderText="none")
        self.limit.setAccessibleName("Memory limit of machines without a GPU")
        self.limit.setToolTip("The memory that machines without a GPU imitate, as in 8GiB")
        form = QFormLayout()
        form.addRow("&Address", self.address)
        form.addRow("Limit of C&PUs", self.limit)
        self.look, self.measure = QPushButton("List &machines"), QPushButton("Meas&ure there")
        self.test, self.cancel = QPushButton("Self-te&st"), QPushButton("Ca&ncel")
        self.measure.setToolTip("The chosen setup, in a new process on the machine that is selected")
        self.test.setToolTip("Small models on the machine that is selected; calibrates estimates for its GPU")
        pairs = (QHBoxLayout(), QHBoxLayout())
        for layout, buttons in zip(pairs, ((self.look, self.measure), (self.test, self.cancel)), strict=True):
            for button in buttons:
                layout.addWidget(button)
        self.bar, self.doing = QProgressBar(textVisible=False), PlainLabel(wordWrap=True)
        self.bar.setRange(0, 0)
        page = QWidget()
        page.setFixedWidth(LEFT)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(form)
        for layout in pairs:
            column.addLayout(layout)
        column.addWidget(self.bar)
        column.addWidget(self.doing)
        column.addStretch(1)
        return page

    def row(self) -> Row | None:
        place = self.table.currentRow()
        return self._values.rows[place] if 0 <= place < len(self._values.rows) else None

    def show_values(self, values: FleetValues, theme: Theme) -> None:
        self._values, self._theme = values, theme
        self.note.setText(values.note)
        self.note.setVisible(bool(values.note))
        self.table.setVisible(bool(values.rows))
        self.table.show_rows(values.rows, theme)
        self._enable()
        self._paint()

    def show_working(self, working: bool) -> None:
        self._working = working
        self.look.setEnabled(not working)
        self.cancel.setEnabled(working)
        self.bar.setVisible(working)
        self._enable()
        if working:
            self.say("")

    def say(self, sentence: str, detail: str = "", *, trouble: bool = False) -> None:
        self._trouble = trouble
        self.doing.setText(sentence)
        self.doing.setToolTip(plain_tip(detail))
        self._paint()

    def set_theme(self, theme: Theme) -> None:
        self.show_values(self._values, theme)

    def _enable(self) -> None:
        row = self.row()
        for button in (self.measure, self.test):
            button.setEnabled(not self._working and row is not None and row.able)

    def _paint(self) -> None:
        tint(self.doing, self._theme.bad if self._trouble else self._theme.muted)
        tint(self.note, self._theme.muted)

    def _on_chosen(self, signal: SignalInstance) -> None:
        row = self.row()
        if row is not None:
            signal.emit(row)
