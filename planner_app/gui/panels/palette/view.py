"""The command palette: type a few letters, choose with the arrow keys, run with Enter."""

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from planner_app.foreign_text import for_line
from planner_app.gui.look.paper import tint
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.plot.pens import pen
from planner_app.gui.look.table.index import Index
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.palette.values import Entry

WIDTH, HEIGHT, TOP, ROW, PAD = 560, 380, 60, 28, 10
NOTHING = "Nothing has all these words in its name: try fewer of them."
ENTRY = Qt.ItemDataRole.UserRole
MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class PaletteView(QDialog):
    typed = Signal(str)
    chosen = Signal(Entry)

    def __init__(self, parent: QWidget, theme: Theme) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAccessibleName("Command palette")
        self.field, self.list = QLineEdit(), QListWidget()
        self.field.setPlaceholderText("Type a command, a panel, a device, a batch …")
        self.field.setAccessibleName("Command")
        self.list.setAccessibleName("Commands")
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setItemDelegate(_EntryDelegate(theme, self.list))
        self._theme = theme
        self.nothing = PlainLabel(NOTHING)
        tint(self.nothing, theme.muted)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.addWidget(self.field)
        column.addWidget(self.list)
        column.addWidget(self.nothing, 1, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.field.textChanged.connect(self.typed)
        self.field.installEventFilter(self)
        self.list.itemClicked.connect(self._choose)
        self.resize(WIDTH, HEIGHT)
        place = parent.mapToGlobal(parent.rect().topLeft())
        self.move(place.x() + (parent.width() - WIDTH) // 2, place.y() + TOP)

    def show_entries(self, entries: list[Entry]) -> None:
        self.list.clear()
        for entry in entries:
            item = QListWidgetItem()
            item.setData(ENTRY, entry)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{entry.text}, {entry.where} {entry.keys}")
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self.list.setVisible(bool(entries))
        self.nothing.setVisible(not entries)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """An edge, since the window behind has the same ground."""
        painter, theme = QPainter(self), self._theme
        painter.fillRect(self.rect(), QColor(theme.raised))
        painter.setPen(pen(theme.muted, 1.0, on=self))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The arrow keys move through the list while the field is typed into."""
        if watched is self.field and isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            if event.key() in MOVES:
                self.list.event(event)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                if (item := self.list.currentItem()) is not None:
                    self._choose(item)
                return True
        return super().eventFilter(watched, event)

    def _choose(self, item: QListWidgetItem) -> None:
        entry = item.data(ENTRY)
        self.accept()
        self.chosen.emit(entry)


class _EntryDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, parent: QListWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, _option: QStyleOptionViewItem, _index: Index) -> QSize:
        return QSize(100, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry: Entry = index.data(ENTRY)
        theme, chosen = self._theme, bool(option.state & QStyle.StateFlag.State_Selected)
        if chosen:
            painter.fillRect(option.rect, QColor(theme.accent))
        room = option.rect.adjusted(PAD, 0, -PAD, 0)
        muted = QColor(theme.on_accent if chosen else theme.muted)
        clear = QColor(theme.on_accent if chosen else theme.text)
        left = QRect(room)
        for text, colour in ((entry.keys, clear), (entry.where, muted)):
            painter.setPen(colour)
            painter.drawText(left, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), text)
            left.setWidth(left.width() - (painter.fontMetrics().horizontalAdvance(text) + 2 * PAD if text else 0))
        painter.setPen(clear)
        text = painter.fontMetrics().elidedText(for_line(entry.text), Qt.TextElideMode.ElideRight, left.width())
        painter.drawText(left, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text)
