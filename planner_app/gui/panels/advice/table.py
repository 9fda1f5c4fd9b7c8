"""The list of changes: first what makes it fit, then what helps, then tips that a setup can't express."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QHeaderView,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
)

from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.look.table.bars import RIGHT, BarDelegate
from planner_app.gui.look.table.index import Index
from planner_app.gui.look.table.plain_table import heading, make_plain
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.advice.values import Row, Use

COLUMNS = ("", "Change", "Memory after", "Saves", "Speed")
CHANGE, AFTER, SAVES = 1, 2, 3
SHARE, COLOUR = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
ROW = 22
AFTER_WIDTH = 100


class AfterDelegate(BarDelegate):
    """Memory after a change, as a share of the memory before it."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self.paint_share(painter, option, index, index.data(SHARE) or 0.0, QColor(index.data(COLOUR)))


class AdviceTable(QTableWidget):
    row_chosen = Signal(Row)  # or None
    row_used = Signal(Row)

    def __init__(self) -> None:
        super().__init__(0, len(COLUMNS))
        self._rows: tuple[Row, ...] = ()
        self._picked = ""  # the row that the user picked, which stays current
        self.setHorizontalHeaderLabels(list(COLUMNS))
        self.setAccessibleName("Changes that make the setup fit, cheapest first")
        make_plain(self, ROW)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(CHANGE, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(AFTER, QHeaderView.ResizeMode.Fixed)
        self.setColumnWidth(AFTER, AFTER_WIDTH)
        for column in (0, CHANGE, len(COLUMNS) - 1):
            heading(self, column).setTextAlignment(Qt.AlignmentFlag.AlignLeft)
        heading(self, AFTER).setToolTip("At the peak on one GPU; the bar is its share of the memory before.")
        heading(self, len(COLUMNS) - 1).setToolTip("Per sample: a roofline estimate.")
        self.setItemDelegateForColumn(AFTER, AfterDelegate(self))
        self.currentCellChanged.connect(self._on_cell_changed)
        self.cellDoubleClicked.connect(lambda *_: self._use())

    def chosen(self) -> Row | None:
        place = self.currentRow()
        return self._rows[place] if 0 <= place < len(self._rows) else None

    def show_rows(self, rows: Sequence[Row], applied: int | None, theme: Theme) -> None:
        """The picked row stays current if it still exists."""
        self.blockSignals(True)
        self._rows = tuple(rows)
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            self._fill(number, row, number == applied, theme)
        texts = [row.text for row in rows]
        place = texts.index(self._picked) if self._picked in texts else 0
        self.setCurrentCell(applied if applied is not None else place, CHANGE)
        self.blockSignals(False)
        self.row_chosen.emit(self.chosen())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._use()
        else:
            super().keyPressEvent(event)

    def _on_cell_changed(self) -> None:
        row = self.chosen()
        self._picked = row.text if row is not None else ""
        self.row_chosen.emit(row)

    def _fill(self, number: int, row: Row, applied: bool, theme: Theme) -> None:
        rank = "✓" if applied else row.rank
        for column, text in enumerate((rank, row.text, row.after, row.saves, row.speed)):
            item = QTableWidgetItem(text)
            item.setToolTip(plain_tip(row.text if column == CHANGE else str(row.use)))
            if column in (AFTER, SAVES):
                item.setTextAlignment(RIGHT)
            if row.use not in (Use.FITS, Use.TIGHT):
                item.setForeground(QColor(theme.muted))
            if column == AFTER:
                item.setData(SHARE, row.share)
                item.setData(COLOUR, theme.good if row.use is Use.FITS else theme.warn)
            self.setItem(number, column, item)

    def _use(self) -> None:
        if (row := self.chosen()) is not None:
            self.row_used.emit(row)
