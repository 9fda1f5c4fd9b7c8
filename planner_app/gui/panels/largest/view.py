"""The heat map of largest batches: a table with keyboard navigation."""

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPalette, QPen, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.table.index import Index
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.largest.header import Group, GroupedHeader, RowHeader
from planner_app.gui.panels.largest.model import LargestModel
from planner_app.gui.panels.largest.values import Cell, HeatMap, State, place

LEAST_WIDTH, HEIGHT, PAD = 104, 44, 10  # pixels
COLDEST, HOTTEST = 0.08, 0.55  # shares of the accent over the surface: text stays readable on both
CAPTION = "The largest global batch counting tight, and below it the one sure to fit."
HINT = f"{CAPTION} Click or press Enter to choose it."


def tint(theme: Theme, cell: Cell) -> QColor:
    """The background of a cell."""
    if cell.state is State.NEVER:
        return _mixed(theme.surface, theme.bad, 0.16)
    if cell.state is State.FITS:
        return _mixed(theme.surface, theme.accent, COLDEST + (HOTTEST - COLDEST) * cell.heat)
    return QColor(theme.surface)


def _mixed(ground: str, over: str, share: float) -> QColor:
    low, high = QColor(ground), QColor(over)
    pairs = ((low.redF(), high.redF()), (low.greenF(), high.greenF()), (low.blueF(), high.blueF()))
    return QColor.fromRgbF(*(a + (b - a) * share for a, b in pairs))


class LargestDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, model: LargestModel, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme, self._model = theme, model

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        cell = self._model.cell(index)
        if cell is None:
            return
        painter.save()
        painter.fillRect(option.rect, tint(self.theme, cell))
        if index.column() % len(self._model.values.gpu_counts) == 0:
            painter.setPen(option.palette.color(QPalette.ColorRole.Mid))
            painter.drawLine(option.rect.topLeft(), option.rect.bottomLeft())
        self._paint_text(painter, option, cell)
        if cell.chosen:
            painter.setPen(QPen(QColor(self.theme.text), 2))
            painter.drawRect(option.rect.adjusted(2, 2, -2, -2))
        if option.state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(QPen(QColor(self.theme.accent), 2, Qt.PenStyle.DotLine))
            painter.drawRect(option.rect.adjusted(4, 4, -4, -4))
        painter.restore()

    def _paint_text(self, painter: QPainter, option: QStyleOptionViewItem, cell: Cell) -> None:
        number = cell.state is State.FITS
        rect, line = option.rect, option.fontMetrics.height()
        top = rect.center().y() - (line if cell.below else line // 2)
        font = option.font
        font.setBold(number)
        painter.setFont(font)
        colour = self.theme.text if number else self.theme.bad if cell.state is State.NEVER else self.theme.muted
        painter.setPen(QColor(colour))
        middle = int(Qt.AlignmentFlag.AlignCenter)
        painter.drawText(QRect(rect.left(), top, rect.width(), line), middle, cell.text)
        if cell.below:
            font.setBold(False)
            painter.setFont(font)
            painter.setPen(QColor(self.theme.text if number else self.theme.muted))
            painter.drawText(QRect(rect.left(), top + line, rect.width(), line), middle, cell.below)


class LargestTable(QTableView):
    chosen = Signal(Cell)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.cells = LargestModel(self)
        self.setModel(self.cells)
        self.painter = LargestDelegate(theme, self.cells, self)
        self.setItemDelegate(self.painter)
        self.header = GroupedHeader(self)
        self.setHorizontalHeader(self.header)
        self.header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.header.setDefaultSectionSize(LEAST_WIDTH)
        self.setVerticalHeader(RowHeader(self))
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(HEIGHT)
        self.viewport().setBackgroundRole(QPalette.ColorRole.Window)  # no background outside the cells
        self.setCornerButtonEnabled(False)
        self.setShowGrid(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.header.setSectionsClickable(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTabKeyNavigation(False)
        self.setAccessibleName("Largest batch by precision, GPU count and device")
        self.clicked.connect(self._choose)

    def show_values(self, values: HeatMap) -> None:
        self.cells.show_values(values)
        self.header.setDefaultSectionSize(self._widest(values))
        count = len(values.gpu_counts)
        chosen = {cell.device for row in values.cells for cell in row if cell.chosen}
        self.header.show_groups(
            [
                Group(place(device), number * count, count, device in chosen)
                for number, device in enumerate(values.devices)
            ]
        )

    def _widest(self, values: HeatMap) -> int:
        """All columns are as wide as the longest text needs."""
        texts = [text for row in values.cells for cell in row for text in (cell.text, cell.below, cell.run)]
        return max((self.fontMetrics().horizontalAdvance(text) + 2 * PAD for text in texts), default=LEAST_WIDTH)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._choose(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _choose(self, index: Index) -> None:
        if (cell := self.cells.cell(index)) is not None and cell.state is not State.FAILED:
            self.chosen.emit(cell)


class LargestView(QWidget):
    chosen = Signal(Cell)
    shown = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.caption = PlainLabel(HINT)
        self.caption.setContentsMargins(6, 0, 0, 0)
        self.table = LargestTable(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.caption)
        column.addWidget(self.table, 1)
        self.setFocusProxy(self.table)
        self.set_theme(theme)
        self.table.chosen.connect(self.chosen)

    def show_values(self, values: HeatMap, note: str) -> None:
        self.caption.setText(note or HINT)
        self.table.show_values(values)

    def show_for_paper(self, values: HeatMap) -> None:
        self.show_values(values, CAPTION)
        table, rows = self.table, self.table.verticalHeader()
        table.setFixedSize(rows.sizeHint().width() + table.header.length(), table.header.height() + rows.length())
        column = self.layout()
        assert column is not None
        column.setAlignment(table, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)

    def set_theme(self, theme: Theme) -> None:
        self.table.painter.theme = theme
        self.table.viewport().update()
        palette = self.caption.palette()
        palette.setColor(QPalette.ColorRole.WindowText, theme.muted)
        self.caption.setPalette(palette)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()
