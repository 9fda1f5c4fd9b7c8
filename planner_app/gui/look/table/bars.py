"""Small bars in table cells that show a share behind its number."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from planner_app.gui.look.table.index import Index

FAINT = 0.4  # opacity of a bar, so that its number stays readable
HEIGHT = 16
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class BarDelegate(QStyledItemDelegate):
    def paint_share(
        self, painter: QPainter, given: QStyleOptionViewItem, index: Index, share: float, colour: QColor
    ) -> None:
        option = QStyleOptionViewItem(given)
        self.initStyleOption(option, index)
        text, option.text = option.text, ""
        room = QRectF(option.rect)
        option.widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        colour.setAlphaF(FAINT)
        width = (room.width() - 4) * max(share, 0.0)
        fill(painter, QRectF(room.left() + 2, room.center().y() - HEIGHT / 2, width, HEIGHT), colour)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        role = QPalette.ColorRole.HighlightedText if chosen else QPalette.ColorRole.Text
        painter.setPen(option.palette.color(role))
        painter.drawText(option.rect.adjusted(0, 0, -4, 0), int(RIGHT), text)


def fill(painter: QPainter, place: QRectF, colour: QColor) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    painter.drawRoundedRect(place, 2, 2)
    painter.restore()


def percent(share: float) -> str:
    return "<0.1 %" if 0 < share < 0.001 else f"{share:.1%}".replace("%", " %")
