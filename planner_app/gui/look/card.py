"""A button of two lines: what to do, and its effect in the colour of its verdict."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QEnterEvent, QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from planner_app.core.estimate.verdict import Verdict
from planner_app.foreign_text import for_terminal
from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.look.theme import Theme

PAD, RADIUS, LEAST, MOST = 10, 5, 120, 300


class Card(QAbstractButton):
    """The first one of a row is filled with the accent's colour: what most people will want."""

    def __init__(
        self, text: str, effect: str, theme: Theme, *, first: bool = False, verdict: Verdict | None = None
    ) -> None:
        super().__init__()
        self._theme, self._first, self._verdict = theme, first, verdict
        self._effect = ""
        self.setText(for_terminal(text))
        self.say(effect)
        self.setToolTip(plain_tip(text))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(MOST)

    def say(self, effect: str) -> None:
        """Change the second line."""
        self._effect = for_terminal(effect)
        self.setAccessibleName(f"{self.text()}: {self._effect}" if effect else self.text())
        self.updateGeometry()
        self.update()

    def lead(self, on: bool) -> None:
        """Whether it is the first one of its row."""
        self._first = on
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics, bold = self.fontMetrics(), QFontMetrics(self._bold())
        width = max(bold.horizontalAdvance(self.text()), metrics.horizontalAdvance(self._effect))
        return QSize(min(width + 2 * PAD + 6, MOST), 2 * metrics.lineSpacing() + 14)

    def minimumSizeHint(self) -> QSize:
        """Short texts are never cut."""
        size = self.sizeHint()
        return QSize(min(size.width(), LEAST), size.height())

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, painter = self._theme, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        filled = self._first and self.isEnabled()
        lit = self.isDown() or self.underMouse() or self.hasFocus()
        ground = QColor(theme.accent if filled else theme.raised)
        if filled and (self.isDown() or self.underMouse()):
            ground = ground.darker(110) if theme.name == "light" else ground.lighter(110)
        painter.setBrush(ground)
        painter.setPen(QPen(QColor(theme.accent if (lit and self.isEnabled()) or filled else theme.grid), 1))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(theme.on_accent if filled else theme.accent), 1))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(2.5, 2.5, -2.5, -2.5), RADIUS - 2, RADIUS - 2)
        self._write(painter)

    def _bold(self) -> QFont:
        font = QFont(self.font())
        font.setBold(self._first)
        return font

    def _write(self, painter: QPainter) -> None:
        theme, metrics = self._theme, self.fontMetrics()
        room = self.width() - 2 * PAD
        painter.setFont(self._bold())
        filled, on = self._first and self.isEnabled(), self.isEnabled()
        painter.setPen(QColor(theme.on_accent if filled else theme.text if on else theme.muted))
        line = metrics.lineSpacing()
        title = painter.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room)
        painter.drawText(PAD, 6 + metrics.ascent(), title)
        painter.setFont(self.font())
        effect = metrics.elidedText(self._effect, Qt.TextElideMode.ElideRight, room)
        plain = theme.muted if self._verdict is None or not on else theme.verdict(self._verdict)
        painter.setPen(QColor(theme.on_accent if filled else plain))
        painter.drawText(PAD, 6 + line + metrics.ascent(), effect)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()
