"""Models opened before, each with its last verdict."""

from dataclasses import dataclass

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from planner_app.core.estimate.verdict import Verdict
from planner_app.foreign_text import for_line
from planner_app.gui.look.table.index import Index
from planner_app.gui.look.theme import Theme

ROW, PAD, RADIUS = 46, 12, 5
SHOWN = 5
ENTRY = Qt.ItemDataRole.UserRole


@dataclass(frozen=True, slots=True)
class Recent:
    """Attributes:
    said: The last answer: "batch 64 needs 20.1 GiB on NVIDIA L4"; empty if there was none.
    """

    path: str
    name: str
    folder: str
    verdict: Verdict | None = None
    said: str = ""


class RecentList(QListWidget):
    opened = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setAccessibleName("Recent models")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.viewport().setAutoFillBackground(False)
        self._delegate = _RowDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self.itemClicked.connect(self._tell)
        self.itemActivated.connect(self._on_activated)
        self._clicked: QListWidgetItem | None = None

    def show_entries(self, entries: tuple[Recent, ...]) -> None:
        self.clear()
        for entry in entries:
            item = QListWidgetItem()
            item.setData(ENTRY, entry)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{entry.name} in {entry.folder}. {_last(entry)}")
            item.setToolTip(for_line(entry.path))
            self.addItem(item)
        self.setFixedHeight(ROW * min(len(entries), SHOWN) + 2)

    def set_theme(self, theme: Theme) -> None:
        self._delegate.theme = theme
        self.viewport().update()

    def _tell(self, item: QListWidgetItem) -> None:
        self._clicked = item
        self.opened.emit(item.data(ENTRY).path)

    def _on_activated(self, item: QListWidgetItem) -> None:
        """Enter; on some desktops also a click, which has told already."""
        if item is not self._clicked:
            self._tell(item)
        self._clicked = None


class _RowDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, parent: RecentList) -> None:
        super().__init__(parent)
        self.theme = theme

    def sizeHint(self, _option: QStyleOptionViewItem, _index: Index) -> QSize:
        return QSize(200, ROW)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry: Recent = index.data(ENTRY)
        theme, room = self.theme, option.rect.adjusted(1, 1, -1, -2)
        state = option.state
        lit = state & QStyle.StateFlag.State_MouseOver or (
            state & QStyle.StateFlag.State_HasFocus and state & QStyle.StateFlag.State_Selected
        )
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(QColor(theme.surface))
        painter.setPen(QColor(theme.accent if lit else theme.grid))
        painter.drawRoundedRect(room, RADIUS, RADIUS)
        room = room.adjusted(PAD, 5, -PAD, -5)
        half = room.height() // 2
        above, below = (
            QRect(room.x(), room.y(), room.width(), half),
            QRect(room.x(), room.y() + half, room.width(), half),
        )
        said = self._write(
            painter, above, _last(entry), theme.verdict(entry.verdict) if entry.said else theme.muted, right=True
        )
        bold = QFont(option.font)
        bold.setBold(True)
        painter.setFont(bold)
        self._write(painter, above.adjusted(0, 0, -said - PAD, 0), entry.name, theme.text)
        painter.setFont(option.font)
        self._write(painter, below, entry.folder, theme.muted)
        painter.restore()

    @staticmethod
    def _write(painter: QPainter, room: QRect, text: str, colour: str, *, right: bool = False) -> int:
        """Returns the width that the text takes."""
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        shown = painter.fontMetrics().elidedText(for_line(text), Qt.TextElideMode.ElideMiddle, room.width())
        painter.setPen(QColor(colour))
        painter.drawText(room, int(side | Qt.AlignmentFlag.AlignVCenter), shown)
        return painter.fontMetrics().horizontalAdvance(shown)


def _last(entry: Recent) -> str:
    if not entry.said:
        return ""
    return f"{str(entry.verdict).capitalize()}: {entry.said}" if entry.verdict is not None else entry.said
