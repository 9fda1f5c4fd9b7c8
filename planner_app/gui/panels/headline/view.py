"""The headline above the chart: the verdict in large letters, and the next steps as buttons."""

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from planner_app.gui.look.card import Card
from planner_app.gui.look.layouts import clear
from planner_app.gui.look.paper import tint
from planner_app.gui.look.plain_label import ElidedLabel, PlainLabel, plain_tip
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.headline.values import HeadlineValues, Step

LARGE, MIDDLE = 1.9, 1.25  # of the usual letters
EDGE = 4


class StepCard(Card):
    def __init__(self, step: Step, theme: Theme, *, first: bool) -> None:
        super().__init__(step.text, step.effect, theme, first=first, verdict=step.verdict)
        self.step = step
        self.setToolTip(plain_tip(step.tip or step.text))


class HeadlineView(QWidget):
    step_clicked = Signal(Step)
    left = Signal()  # by the pointer

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._values = theme, HeadlineValues()
        self.word, self.figure = _label(self, LARGE, bold=True), _label(self, LARGE)
        self.where, self.how = _label(self, MIDDLE, kind=ElidedLabel), _label(self, kind=ElidedLabel)
        self.band = _label(self)
        self.largest, self.largest_title = _label(self, LARGE), _label(self)
        self.reason, self.note = _label(self), _label(self, kind=ElidedLabel)
        self.reason.setWordWrap(True)
        self.cards: list[StepCard] = []
        self._lay_out()
        self.setAccessibleName("Whether the chosen setup fits")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.show_values(self._values, theme)

    def _lay_out(self) -> None:
        top, below, right = QHBoxLayout(), QHBoxLayout(), QVBoxLayout()
        left = QVBoxLayout()
        for layout in (top, below):
            layout.setSpacing(10)
        for label in (self.word, self.figure, self.where):
            top.addWidget(label, 0, Qt.AlignmentFlag.AlignBaseline)
        top.addStretch(1)
        below.addWidget(self.band)
        below.addWidget(self.how, 1)
        left.setSpacing(1)
        left.addLayout(top)
        left.addLayout(below)
        right.setSpacing(1)
        for label in (self.largest, self.largest_title):
            right.addWidget(label, 0, Qt.AlignmentFlag.AlignRight)
        line = QHBoxLayout()
        line.setSpacing(16)
        line.addLayout(left, 1)
        line.addLayout(right)
        self._steps = QHBoxLayout()
        self._steps.setSpacing(8)
        self._steps.addWidget(self.note, 1)
        self.note.setMinimumHeight(Card("", "", self._theme).sizeHint().height())
        column = QVBoxLayout(self)
        column.setContentsMargins(16 + EDGE, 10, 16, 10)
        column.setSpacing(7)
        column.addLayout(line)
        column.addWidget(self.reason)
        column.addLayout(self._steps)

    def show_values(self, values: HeadlineValues, theme: Theme) -> None:
        changed = values.steps != self._values.steps
        self._values, self._theme = values, theme
        for label, text in (
            *((self.word, values.word), (self.figure, values.figure), (self.where, values.where)),
            *((self.how, values.how), (self.band, values.band)),
            *((self.largest, values.largest), (self.largest_title, values.largest_title), (self.note, values.note)),
        ):
            label.setText(text)
        for label in (self.where, self.how, self.note):  # where there is little room, they are cut
            label.setToolTip(label.text())
        self.note.setWordWrap(not values.steps)  # beside buttons there is one line for it
        self.band.setVisible(bool(values.band))
        first, dot, _ = values.reason.partition(". ")
        self.reason.setText(f"{first}{dot.strip()}")
        self.reason.setToolTip(values.reason)
        self.reason.setVisible(bool(values.reason))
        self.setAccessibleDescription(values.sentence or values.word)
        self.word.setAccessibleName(values.sentence or values.word)
        if changed:
            self._show_steps(values)
        self._paint()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        for card in self.cards:
            card.set_theme(theme)
        self._paint()

    def _show_steps(self, values: HeadlineValues) -> None:
        focused = next((n for n, card in enumerate(self.cards) if card.hasFocus()), None)
        self._steps.removeWidget(self.note)
        clear(self._steps)
        self.cards = [StepCard(step, self._theme, first=n == 0) for n, step in enumerate(values.steps)]
        for card in self.cards:
            card.clicked.connect(lambda _=False, step=card.step: self.step_clicked.emit(step))
            self._steps.addWidget(card)
        self._steps.addWidget(self.note, 1)
        if focused is not None and self.cards:
            self.cards[min(focused, len(self.cards) - 1)].setFocus()

    def _paint(self) -> None:
        theme, values = self._theme, self._values
        colour = theme.bad if values.trouble else theme.verdict(values.verdict)
        tint(self.word, theme.muted if values.verdict is None and not values.trouble else colour)
        for label in (self.figure, self.where, self.largest):
            tint(label, theme.text)
        for label in (self.how, self.band, self.largest_title, self.note):
            tint(label, theme.muted)
        tint(self.reason, theme.text)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.left.emit()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """On the chart's own ground, with the verdict's colour at its edge."""
        painter, theme, values = QPainter(self), self._theme, self._values
        painter.fillRect(self.rect(), QColor(theme.surface))
        edge = theme.bad if values.trouble else theme.grid if values.verdict is None else theme.verdict(values.verdict)
        painter.fillRect(QRectF(0, 0, EDGE, self.height()), QColor(edge))
        painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), QColor(theme.grid))


def _label(
    parent: QWidget, times: float = 1.0, *, bold: bool = False, kind: type[PlainLabel] = PlainLabel
) -> PlainLabel:
    label = kind()
    font = QFont(parent.font())
    font.setPointSizeF(font.pointSizeF() * times)
    font.setBold(bold)
    label.setFont(font)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    return label
