"""The ladder of a plan: each rung with its memory, drawn against the device's capacity."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
)

from planner_app.gui.look.table.bars import FAINT, RIGHT, fill
from planner_app.gui.look.table.index import Index
from planner_app.gui.look.table.plain_table import heading, make_plain
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.plan.values import RungRow
from planner_app.units import format_bytes

COLUMNS = ("Device", "Rung", "At a time", "Steps", "Precision", "Peak", "Band", "Against the limit")
DRAWN = len(COLUMNS) - 1
ROW = 22
THIN = 8
LINE = 2


class BandDelegate(QStyledItemDelegate):
    """The peak as a bar, its band drawn faintly over it, and the device's capacity as a line."""

    def __init__(self, table: "LadderTable") -> None:
        super().__init__(table)
        self._table = table

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self.initStyleOption(option, index)
        option.widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        row, theme = self._table.rows[index.row()], self._table.theme
        most = max(self._table.most_bytes, 1)
        room = QRectF(option.rect).adjusted(6, 0, -8, 0)

        def span(start: int, end: int, height: float, colour: QColor) -> None:
            left, right = (room.left() + room.width() * each / most for each in (start, end))
            fill(painter, QRectF(left, room.center().y() - height / 2, max(right - left, 1.0), height), colour)

        span(0, row.peak_bytes, THIN, QColor(theme.good))
        faint = QColor(theme.good)
        faint.setAlphaF(FAINT)
        span(row.low_bytes, row.high_bytes, THIN * 1.75, faint)
        if row.capacity_bytes is not None:
            place = room.left() + room.width() * row.capacity_bytes / most
            painter.fillRect(QRectF(place - LINE / 2, room.top() + 2, LINE, room.height() - 4), QColor(theme.bad))


class LadderTable(QTableWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__(0, len(COLUMNS))
        self.rows: tuple[RungRow, ...] = ()
        self.theme, self.most_bytes = theme, 0
        self.setHorizontalHeaderLabels(list(COLUMNS))
        self.setAccessibleName("The ladder: setups with the same batch, each needing less memory")
        make_plain(self, ROW)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(DRAWN, QHeaderView.ResizeMode.Stretch)
        for column, tip in (
            (1, "0 is tried first; if memory runs out all the same, the next one."),
            (2, "Samples per GPU at a time."),
            (3, "Accumulation steps per update."),
            (DRAWN, "The bar is the peak, the faint bar its band, the line what TensorFlow gets of the device."),
        ):
            heading(self, column).setToolTip(tip)
        self.setItemDelegateForColumn(DRAWN, BandDelegate(self))

    def show_rows(self, rows: Sequence[RungRow], theme: Theme) -> None:
        self.rows, self.theme = tuple(rows), theme
        self.most_bytes = int(1.05 * max((max(row.high_bytes, row.capacity_bytes or 0) for row in rows), default=0))
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            xla = " + XLA" if row.compiled else ""
            texts = (
                row.device,
                str(row.number),
                f"{row.at_a_time:,}",
                f"{row.steps:,}",
                f"{row.precision}{xla}",
                format_bytes(row.peak_bytes),
                row.band,
                "",
            )
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                if column not in (0, 4):
                    item.setTextAlignment(RIGHT)
                if row.number:
                    item.setForeground(QColor(theme.muted))
                if column == DRAWN:
                    item.setToolTip(f"{row.spare} to spare" if row.spare else "No limit.")
                    item.setFlags(item.flags() & ~Qt.ItemFlag.ItemIsEditable)
                self.setItem(number, column, item)
