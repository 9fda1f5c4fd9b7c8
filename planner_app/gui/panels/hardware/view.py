"""The hardware panel: filters above, the table on the left, price against what it buys on the right."""

from PySide6.QtCore import QItemSelection, QModelIndex, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QPalette, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from planner_app.core.hardware.option import Option
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.table.plain_table import make_plain
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.hardware.cells import COLUMNS
from planner_app.gui.panels.hardware.filters import Filters
from planner_app.gui.panels.hardware.scatter import ScatterView
from planner_app.gui.panels.hardware.table import OptionsModel, ReasonsModel
from planner_app.gui.panels.hardware.values import Hardware, Key, key_of_option

ROW = 20
MEASURED_ROWS = 30  # measured for column widths: more are rarely visible at once
WIDEST = 150  # pixels of a device's name
STEPS = next(number for number, column in enumerate(COLUMNS) if column.title == "Steps")


class OptionsTable(QTableView):
    selected = Signal(Option)  # or None
    used = Signal(Option)

    def __init__(self) -> None:
        super().__init__()
        self.options = OptionsModel(self)
        self.setModel(self.options)
        make_plain(self, ROW)
        self.horizontalHeader().setResizeContentsPrecision(MEASURED_ROWS)
        self.setSortingEnabled(True)
        self.horizontalHeader().setSortIndicatorClearable(True)
        self.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.setAccessibleName("Hardware that fits the chosen setup")
        self.doubleClicked.connect(self._use)

    def show_values(self, values: Hardware, key: Key | None) -> None:
        scrolled = self.verticalScrollBar().value()
        self.blockSignals(True)
        self.options.show_options(values.options, values.front, values.proposals)
        self.blockSignals(False)
        self.setColumnHidden(STEPS, all(option.setup.accumulate == 1 for option in values.options))
        self.resizeColumnsToContents()
        self.setColumnWidth(0, min(self.columnWidth(0), WIDEST))
        self.verticalScrollBar().setValue(scrolled)
        self.select(key)

    def select(self, key: Key | None) -> None:
        place = self.options.place_of(key)
        if place is not None and place != self.currentIndex().row():
            self.selectionModel().blockSignals(True)
            self.setCurrentIndex(self.options.index(place, 0))
            self.selectionModel().blockSignals(False)
            self.viewport().update()

    def option(self) -> Option | None:
        index = self.currentIndex()
        return self.options.rows[index.row()] if index.isValid() else None

    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        super().selectionChanged(selected, deselected)
        if not self.signalsBlocked() and selected.indexes():
            self.selected.emit(self.options.rows[selected.indexes()[0].row()])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._use(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _use(self, index: QModelIndex) -> None:
        if index.isValid():
            self.used.emit(self.options.rows[index.row()])


class HardwareView(QWidget):
    limits_changed = Signal()
    selected = Signal(Option)  # draw its capacity
    picked = Signal(tuple)  # a dot's key
    used = Signal(Option)  # make it the chosen setup
    report_wanted = Signal()
    shown = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.filters = Filters()
        self.table, self.reasons = OptionsTable(), QTableView()
        self.reasons_model = ReasonsModel(self.reasons)
        self.reasons.setModel(self.reasons_model)
        make_plain(self.reasons, ROW)
        self.reasons.horizontalHeader().setResizeContentsPrecision(MEASURED_ROWS)
        self.reasons.horizontalHeader().setStretchLastSection(True)
        self.reasons.setAccessibleName("Why other devices are not listed")
        self.scatter = ScatterView(theme)
        self.caption = PlainLabel()
        self.caption.setWordWrap(True)
        self.why, self.use, self.report = QPushButton("Why not …"), QPushButton("Use"), QPushButton("Report …")
        self.why.setCheckable(True)
        self.why.setToolTip("The devices that are not listed, and why")
        self.use.setToolTip("Choose the selected offer's device, GPU count and steps (Enter)")
        self.report.setToolTip("A page to sign (HTML or PDF), or the question, to ask it again (JSON)")
        self._lay_out()
        self.set_theme(theme)
        self.show_values(Hardware(), None)
        self.filters.changed.connect(self.limits_changed)
        self.table.selected.connect(self._on_selected)
        self.table.used.connect(self.used)
        self.scatter.picked.connect(self.picked)
        self.why.toggled.connect(lambda on: self._tables.setCurrentIndex(int(on)))
        self.use.clicked.connect(self._on_use)
        self.report.clicked.connect(self.report_wanted)

    def _lay_out(self) -> None:
        self._tables = QStackedWidget()
        self._tables.addWidget(self.table)
        self._tables.addWidget(self.reasons)
        split = QSplitter()
        split.addWidget(self._tables)
        split.addWidget(self.scatter)
        split.setSizes([870, 400])
        split.setStretchFactor(1, 1)  # the table is as wide as its columns
        below = QHBoxLayout()
        below.setContentsMargins(6, 0, 6, 4)
        below.addWidget(self.caption, 1)
        for button in (self.why, self.use, self.report):
            below.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.filters)
        column.addWidget(self.filters.run)
        column.addWidget(split, 1)
        column.addLayout(below)

    def show_values(self, values: Hardware, key: Key | None) -> None:
        self.table.show_values(values, key)
        self.reasons_model.show_reasons(values.reasons)
        self.reasons.resizeColumnToContents(0)
        self.scatter.show_values(values, key)
        self.say(values.caption)
        self.why.setText(f"Why not ({len(values.reasons)})")
        self.why.setEnabled(bool(values.reasons))
        self.report.setEnabled(bool(values.caption))
        self.use.setEnabled(self.table.option() is not None)

    def say(self, sentence: str) -> None:
        self.caption.setText(sentence)
        self.caption.setToolTip(sentence)

    def mark(self, key: Key | None) -> None:
        self.table.select(key)
        self.scatter.select(key)
        self.use.setEnabled(self.table.option() is not None)

    def set_theme(self, theme: Theme) -> None:
        self.scatter.set_theme(theme)
        palette = self.caption.palette()
        palette.setColor(QPalette.ColorRole.WindowText, theme.muted)
        self.caption.setPalette(palette)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.shown.emit(False)

    def _on_selected(self, option: Option) -> None:
        self.use.setEnabled(True)
        self.scatter.select(key_of_option(option))
        self.selected.emit(option)

    def _on_use(self) -> None:
        if (option := self.table.option()) is not None:
            self.used.emit(option)
