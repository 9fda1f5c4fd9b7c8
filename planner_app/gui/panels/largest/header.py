"""Headers of the heat map: columns with two levels, devices above GPU counts; one row per precision."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPalette
from PySide6.QtWidgets import QHeaderView, QWidget

PAD = 6


@dataclass(frozen=True, slots=True)
class Group:
    """Sections under one title, starting at `first`."""

    title: str
    first: int
    count: int
    bold: bool = False


class GroupedHeader(QHeaderView):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._groups: tuple[Group, ...] = ()

    def show_groups(self, groups: Sequence[Group]) -> None:
        self._groups = tuple(groups)
        self.viewport().update()

    def sizeHint(self) -> QSize:
        return QSize(self.defaultSectionSize(), 2 * self.fontMetrics().height() + 2 * PAD)

    def group(self, section: int) -> Group | None:
        return next((each for each in self._groups if each.first <= section < each.first + each.count), None)

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        """Each section paints its part of the title above it."""
        painter.save()
        painter.setClipRect(rect)
        palette = self.palette()
        painter.fillRect(rect, palette.color(QPalette.ColorRole.AlternateBase))
        half = rect.height() // 2
        below = QRect(rect.left(), rect.top() + half, rect.width(), rect.height() - half)
        painter.setPen(palette.color(QPalette.ColorRole.PlaceholderText))
        text = str(self.model().headerData(section, Qt.Orientation.Horizontal) or "")
        painter.drawText(below, int(Qt.AlignmentFlag.AlignCenter), text)
        group = self.group(section)
        if group is not None:
            self._paint_title(painter, group, QRect(rect.left(), rect.top(), rect.width(), half))
            painter.setPen(palette.color(QPalette.ColorRole.Mid))
            if section == group.first:
                painter.drawLine(rect.topLeft(), rect.bottomLeft())
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.restore()

    def _paint_title(self, painter: QPainter, group: Group, rect: QRect) -> None:
        left = self.sectionViewportPosition(group.first)
        width = sum(self.sectionSize(number) for number in range(group.first, group.first + group.count))
        font = self.font()
        font.setBold(group.bold)
        painter.setFont(font)
        painter.setPen(self.palette().color(QPalette.ColorRole.Text))
        whole = QRect(left + PAD, rect.top(), width - 2 * PAD, rect.height())
        title = painter.fontMetrics().elidedText(group.title, Qt.TextElideMode.ElideRight, whole.width())
        painter.drawText(whole, int(Qt.AlignmentFlag.AlignCenter), title)


class RowHeader(QHeaderView):
    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        painter.save()
        painter.fillRect(rect, self.palette().color(QPalette.ColorRole.AlternateBase))
        painter.setPen(self.palette().color(QPalette.ColorRole.Text))
        text = str(self.model().headerData(section, Qt.Orientation.Vertical) or "")
        end = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(rect.adjusted(PAD, 0, -PAD, 0), int(end), text)
        painter.restore()
