"""The tables of the sharding panel: every mesh and layout, and two of them side by side."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import QHeaderView, QStyleOptionViewItem, QTableWidget, QTableWidgetItem

from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.look.table.bars import RIGHT, BarDelegate
from planner_app.gui.look.table.index import Index
from planner_app.gui.look.table.plain_table import heading, make_plain
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.sharding.values import Row, SideBySide

COLUMNS = ("Mesh", "Layout", "Largest batch", "State on each", "Replicated", "Peak", "Sent in a step")
TIPS = {
    0: "Shares of the batch x shares of the weights.",
    2: "Samples per update over all GPUs, counting tight.",
    3: "Weights, optimizer state, seeds and metrics on each GPU, to the byte.",
    4: "What of it every GPU holds whole.",
    5: "On one GPU at the largest batch; at one sample if nothing fits. The bar is its share of the GPU's memory.",
    6: "What one GPU sends to the others. ≥ counts weights and gradients alone; the compiler counts everything.",
}
TEXT_COLUMNS, PEAK = 2, 5
SHARE, COLOUR = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
ROW = 22


class PeakDelegate(BarDelegate):
    """Memory taken, as a share of what the GPU has."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self.paint_share(painter, option, index, index.data(SHARE) or 0.0, QColor(index.data(COLOUR)))


class ShardingTable(QTableWidget):
    row_chosen = Signal(int)
    row_used = Signal(int)

    def __init__(self) -> None:
        super().__init__(0, len(COLUMNS))
        self.setHorizontalHeaderLabels(list(COLUMNS))
        self.setAccessibleName("Meshes and layouts, the largest batch first")
        make_plain(self, ROW)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(PEAK, QHeaderView.ResizeMode.Stretch)
        for column, tip in TIPS.items():
            heading(self, column).setToolTip(tip)
        for column in range(TEXT_COLUMNS):
            heading(self, column).setTextAlignment(Qt.AlignmentFlag.AlignLeft)
        self.setItemDelegateForColumn(PEAK, PeakDelegate(self))
        self.currentCellChanged.connect(lambda row, *_: self.row_chosen.emit(row))
        self.cellDoubleClicked.connect(lambda row, _: self.row_used.emit(row))

    def show_rows(self, rows: Sequence[Row], chosen: int | None, current: int, theme: Theme) -> None:
        self.blockSignals(True)
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            self._fill(number, row, number == chosen, theme)
        if rows:
            self.setCurrentCell(current, 0)
        self.blockSignals(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.row_used.emit(self.currentRow())
        else:
            super().keyPressEvent(event)

    def _fill(self, number: int, row: Row, chosen: bool, theme: Theme) -> None:
        for column, text in enumerate(row.cells):
            item = QTableWidgetItem(f"✓ {text}" if chosen and column == 0 else text)
            item.setToolTip(plain_tip(row.reason or f"On every GPU: {row.stays or 'nothing'}"))
            if column >= TEXT_COLUMNS:
                item.setTextAlignment(RIGHT)
            if not row.fits:
                item.setForeground(QColor(theme.bad))
            if column == PEAK:
                item.setData(SHARE, row.full)
                item.setData(COLOUR, theme.good if row.fits else theme.bad)
            self.setItem(number, column, item)


class SideBySideTable(QTableWidget):
    def __init__(self) -> None:
        super().__init__(0, 3)
        self.setAccessibleName("Two layouts side by side")
        make_plain(self, ROW)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)

    def show_values(self, values: SideBySide) -> None:
        self.setHorizontalHeaderLabels(["", *values.titles])
        self.setRowCount(len(values.lines))
        for number, line in enumerate(values.lines):
            for column, text in enumerate(line):
                item = QTableWidgetItem(text)
                if column:
                    item.setTextAlignment(RIGHT)
                self.setItem(number, column, item)
