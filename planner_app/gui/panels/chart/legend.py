"""The chart's legend, which shows and hides lines: an entry for each precision and for each way of running.

Entries keep their whole text. Those that find no room in two rows fold into a menu.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QIcon, QPainter, QPaintEvent, QPalette, QPen, QPixmap, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QMenu, QSizePolicy, QToolButton, QWidget

from planner_app.gui.look.plain_label import plain_tip

SAMPLE = QSize(26, 12)
PAD, BETWEEN = 6, 6  # pixels around a text, and between line sample and text
GAP = 2  # between entries
OFF = 0.45  # opacity of an entry that is switched off
MOST_ROWS = 2


@dataclass(frozen=True, slots=True)
class Entry:
    """Attributes:
    first: It begins a group, and a row of its own if there are two.
    """

    text: str
    pen: QPen
    tip: str = ""
    first: bool = False


class Chip(QAbstractButton):
    """A line's sample and name. Off, it is pale and struck out."""

    hovered = Signal(bool)

    def __init__(self, entry: Entry, parent: QWidget) -> None:
        super().__init__(parent)
        self.entry = entry
        self.setCheckable(True)
        self.setText(entry.text)
        self.setToolTip(plain_tip(entry.tip))
        self.setAccessibleName(f"Lines of {entry.text}")
        self.setAccessibleDescription(entry.tip)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        text = self.fontMetrics().horizontalAdvance(self.text())
        return QSize(2 * PAD + SAMPLE.width() + BETWEEN + text, self.fontMetrics().height() + PAD)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, role = QPainter(self), QPalette.ColorRole
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.underMouse() or self.hasFocus():
            painter.setPen(self.palette().color(role.Highlight) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(self.palette().color(role.AlternateBase))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        painter.setOpacity(1.0 if self.isChecked() else OFF)
        draw_sample(painter, self.entry.pen, PAD, self.height() / 2)
        font = self.font()
        font.setStrikeOut(not self.isChecked())
        painter.setFont(font)
        painter.setPen(self.palette().color(role.WindowText if self.isChecked() else role.PlaceholderText))
        room = self.rect().adjusted(PAD + SAMPLE.width() + BETWEEN, 0, 0, 0)
        painter.drawText(room, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), self.text())

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.hovered.emit(True)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit(False)


class Legend(QWidget):
    toggled = Signal(object, bool)  # the key of an entry, and whether it is on
    hovered = Signal(object)  # the key of an entry; None: the pointer has left it

    def __init__(self) -> None:
        super().__init__()
        self.chips: dict[object, Chip] = {}
        self._shown: object = None
        self._off: set[object] = set()
        self.more = QToolButton(self)
        self.more.setAccessibleName("More lines")
        self.more.setAutoRaise(True)
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.more.setMenu(QMenu(self.more))
        self.more.hide()
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_entries(self, entries: Mapping[object, Entry]) -> None:
        """Hidden lines stay hidden."""
        described = [
            (key, each.text, each.tip, each.pen.color().name(), each.pen.style()) for key, each in entries.items()
        ]
        if described == self._shown:
            return
        self._shown = described
        for chip in self.chips.values():
            chip.hide()
            chip.deleteLater()
        self.chips = {key: self._chip(key, entry) for key, entry in entries.items()}
        self._lay_out()

    def is_on(self, key: object) -> bool:
        return key not in self._off

    def _chip(self, key: object, entry: Entry) -> Chip:
        chip = Chip(entry, self)
        chip.setChecked(key not in self._off)
        chip.toggled.connect(lambda on: self._on_toggled(key, on))
        chip.hovered.connect(lambda on: self.hovered.emit(key if on else None))
        return chip

    def _on_toggled(self, key: object, on: bool) -> None:
        self._off.discard(key) if on else self._off.add(key)
        self.toggled.emit(key, on)

    def _lay_out(self) -> None:
        """In one row if all entries fit, else in two; what finds no room in the second goes into the menu."""
        chips = list(self.chips.values())
        height = max((chip.sizeHint().height() for chip in chips), default=0)
        width, most = self.width(), 1 if self._needs(chips) <= self.width() else MOST_ROWS
        more = self.fontMetrics().horizontalAdvance("+99 more") + 5 * PAD
        row, left, folded = 0, PAD, list[Chip]()
        for number, chip in enumerate(chips):
            wide = chip.sizeHint().width()
            fits = left + wide <= width - (more if row == most - 1 and number < len(chips) - 1 else 0)
            if most > 1 and row == 0 and number and (chip.entry.first or not fits):
                row, left = row + 1, PAD
                fits = left + wide <= width - (more if number < len(chips) - 1 else 0)
            if folded or not fits:
                folded.append(chip)
                chip.hide()
                continue
            chip.setGeometry(QRect(left, row * height, wide, height))
            chip.show()
            left += wide + GAP
        self._fold(folded, left, row * height, height)
        rows = row + 1 if chips else 0
        if self.minimumHeight() != rows * height:
            self.setFixedHeight(rows * height)

    def _needs(self, chips: list[Chip]) -> int:
        return PAD + sum(chip.sizeHint().width() + GAP for chip in chips)

    def _fold(self, chips: list[Chip], left: int, top: int, height: int) -> None:
        self.more.setVisible(bool(chips))
        self.more.setText(f"+{len(chips)} more")
        self.more.setAccessibleName(f"{len(chips)} more kinds of lines")
        self.more.setGeometry(left, top, self.more.sizeHint().width(), height)
        menu = self.more.menu()
        menu.clear()
        for chip in chips:
            action = menu.addAction(_icon(chip.entry.pen, self.devicePixelRatioF()), chip.text())
            action.setCheckable(True)
            action.setChecked(chip.isChecked())
            action.setToolTip(chip.toolTip())
            action.toggled.connect(chip.setChecked)
        menu.setToolTipsVisible(True)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()


def draw_sample(painter: QPainter, pen: QPen, left: float, middle: float) -> None:
    painter.setPen(pen)
    painter.drawLine(QPointF(left, middle), QPointF(left + SAMPLE.width(), middle))


def _icon(pen: QPen, ratio: float) -> QIcon:
    pixmap = QPixmap(SAMPLE * ratio)
    pixmap.setDevicePixelRatio(ratio)
    pixmap.fill(QColor(Qt.GlobalColor.transparent))
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    draw_sample(painter, pen, 0, SAMPLE.height() / 2)
    painter.end()
    return QIcon(pixmap)
