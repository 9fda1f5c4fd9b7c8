"""Paints the rows of the list: headings and notes across its width, a radio mark, a bar for memory in use."""

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionButton, QStyleOptionViewItem, QTreeView

from planner_app.gui.look.table.index import Index
from planner_app.gui.panels.devices.model import NAME, SIZE, USE
from planner_app.gui.panels.devices.values import Kind, Row

BAR = 4  # pixels high
PAD = 4
WRAP = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft


class DevicesDelegate(QStyledItemDelegate):
    def __init__(self, tree: QTreeView) -> None:
        super().__init__(tree)
        self._tree = tree
        self._hints: dict[tuple[int, str, int], QSize] = {}

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = self._row(index)
        if row.kind is not Kind.DEVICE:
            self._paint_text(painter, option, row)
        elif index.column() == USE:
            super().paint(painter, option, index)
            self._paint_radio(painter, option, row)
        else:
            super().paint(painter, option, index)
            if index.column() == NAME:
                self._outline_check(painter, option, index)
            if index.column() == NAME and row.live:
                self._paint_live(painter, option, row)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row, line = self._row(index), option.fontMetrics.height()
        if row.kind is Kind.NOTE:
            room = QRect(0, 0, self._tree.viewport().width() - 4 * PAD, 10_000)
            return QSize(0, option.fontMetrics.boundingRect(room, int(WRAP), row.name).height() + 2 * PAD)
        if row.kind is Kind.HEADING:
            return QSize(0, line + 3 * PAD)
        hint = self._plain_hint(option, index, row)
        return QSize(hint.width(), 2 * line + BAR + 3 * PAD if row.live else max(hint.height(), line + PAD + 2))

    def _plain_hint(self, option: QStyleOptionViewItem, index: Index, row: Row) -> QSize:
        """Kept: it is asked thousands of times when the list appears. Names are stretched, so only sizes differ."""
        key = index.column(), row.size if index.column() == SIZE else "", option.fontMetrics.height()
        if key not in self._hints:
            self._hints[key] = super().sizeHint(option, index)
        return self._hints[key]

    def _row(self, index: Index) -> Row:
        return index.model().rows[index.row()]  # type: ignore[attr-defined,no-any-return]

    @staticmethod
    def _paint_text(painter: QPainter, option: QStyleOptionViewItem, row: Row) -> None:
        painter.save()
        font = option.font
        heading = row.kind is Kind.HEADING
        font.setBold(heading)
        painter.setFont(font)
        muted = option.palette.color(QPalette.ColorRole.PlaceholderText)
        painter.setPen(option.palette.color(QPalette.ColorRole.Text) if heading else muted)
        rect = option.rect.adjusted(2 * PAD, PAD if not heading else 0, -2 * PAD, -PAD)
        painter.drawText(rect, int(Qt.AlignmentFlag.AlignBottom if heading else WRAP), row.name)
        painter.restore()

    def _paint_radio(self, painter: QPainter, option: QStyleOptionViewItem, row: Row) -> None:
        if row.device is None:
            return
        style = self._tree.style()
        size = style.pixelMetric(QStyle.PixelMetric.PM_ExclusiveIndicatorWidth)
        button = QStyleOptionButton()
        button.rect = QRect(0, 0, size, size)
        button.rect.moveCenter(option.rect.center())
        button.state = QStyle.StateFlag.State_Enabled
        button.state |= QStyle.StateFlag.State_On if row.chosen else QStyle.StateFlag.State_Off
        button.palette = self._tree.palette()
        style.drawPrimitive(QStyle.PrimitiveElement.PE_IndicatorRadioButton, button, painter, self._tree)
        self._outline(painter, option, button.rect, size / 2)

    def _outline_check(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if self._row(index).device is not None:
            full = QStyleOptionViewItem(option)
            self.initStyleOption(full, index)
            part = QStyle.SubElement.SE_ItemViewItemCheckIndicator
            self._outline(painter, option, self._tree.style().subElementRect(part, full, self._tree), 2)

    @staticmethod
    def _outline(painter: QPainter, option: QStyleOptionViewItem, rect: QRect, radius: float) -> None:
        """The style's own mark is hardly visible on a dark background."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(option.palette.color(QPalette.ColorRole.PlaceholderText))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), radius, radius)
        painter.restore()

    def _paint_live(self, painter: QPainter, option: QStyleOptionViewItem, row: Row) -> None:
        """Below the name: the memory in use, in words and as a bar."""
        whole = QRect(option.rect)
        metrics: QFontMetrics = option.fontMetrics
        left = whole.left() + self._tree.style().pixelMetric(QStyle.PixelMetric.PM_IndicatorWidth) + 3 * PAD
        text = QRect(left, whole.center().y() + PAD // 2, whole.right() - left, metrics.height())
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        role = QPalette.ColorRole
        painter.save()
        painter.setPen(option.palette.color(role.HighlightedText if selected else role.PlaceholderText))
        painter.drawText(
            text,
            int(Qt.AlignmentFlag.AlignLeft),
            metrics.elidedText(row.live, Qt.TextElideMode.ElideRight, text.width()),
        )
        bar = QRect(left, text.bottom() + 1, text.width() - PAD, BAR)
        painter.fillRect(bar, option.palette.color(role.Mid))
        if row.used:
            bar.setWidth(max(1, round(bar.width() * row.used)))
            painter.fillRect(bar, option.palette.color(role.HighlightedText if selected else role.Highlight))
        painter.restore()

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        if self._row(index).live:
            option.displayAlignment = (option.displayAlignment & ~Qt.AlignmentFlag.AlignVertical_Mask) | (
                Qt.AlignmentFlag.AlignTop
            )
