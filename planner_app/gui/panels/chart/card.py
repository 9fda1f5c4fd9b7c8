"""The card of one point of the chart: what it takes and what its memory consists of. It stands where no line is."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from planner_app.foreign_text import for_html

DISTANCE = 18  # from the pointer
MARGIN = 8  # to the edges of the plot
MOST_ROWS = 4
POINTER = 1000.0  # what covering the pointer costs, in points of a line
STAYS = 2.0  # what moving to another corner must gain


@dataclass(frozen=True, slots=True)
class CardRow:
    colour: str
    name: str
    size: str


@dataclass(frozen=True, slots=True)
class CardValues:
    title: str
    verdict: str
    colour: str
    rows: tuple[CardRow, ...] = ()
    more: str = ""


class Card(QFrame):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._room = parent
        self._corner: int | None = None
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = QLabel()
        self._text.setTextFormat(Qt.TextFormat.RichText)
        column = QVBoxLayout(self)
        column.setContentsMargins(9, 5, 9, 5)
        column.addWidget(self._text)
        self.hide()

    def show_values(self, values: CardValues, at: QPoint) -> None:
        """Beside the pointer."""
        self._fill(values)
        room = self._room.rect()
        left = at.x() + DISTANCE
        if left + self.width() > room.right():
            left = at.x() - DISTANCE - self.width()
        top = min(max(at.y() - self.height() // 2, 4), room.bottom() - self.height() - 4)
        self.move(max(left, 4), top)
        self._come()

    def show_aside(self, values: CardValues, at: QPoint, room: QRect, points: Sequence[tuple[float, float]]) -> None:
        """In the corner of the plot that covers the fewest points of its lines, and never the pointer."""
        self._fill(values)
        inner = room.adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        left, top = inner.left(), inner.top()
        right, bottom = inner.right() - self.width(), inner.bottom() - self.height()
        middle = (top + bottom) // 2
        corners = [QPoint(left, top), QPoint(left, middle), QPoint(right, bottom), QPoint(right, middle)]
        corners += [QPoint(right, top), QPoint(left, bottom)]
        costs = [self._cost(corner, at, points) for corner in corners]
        best = min(range(len(corners)), key=costs.__getitem__)
        if self._corner is None or not self.isVisible() or costs[self._corner] > costs[best] + STAYS:
            self._corner = best
        self.move(corners[self._corner])
        self._come()

    def _cost(self, corner: QPoint, at: QPoint, points: Sequence[tuple[float, float]]) -> float:
        left, top = corner.x() - 4, corner.y() - 4
        right, bottom = left + self.width() + 8, top + self.height() + 8
        covered = sum(left <= x <= right and top <= y <= bottom for x, y in points)
        near = left - DISTANCE <= at.x() <= right + DISTANCE and top - DISTANCE <= at.y() <= bottom + DISTANCE
        return covered + (POINTER if near else 0.0)

    def _fill(self, values: CardValues) -> None:
        self._text.setText(_html(values))
        self.adjustSize()

    def _come(self) -> None:
        self.show()
        self.raise_()

    @property
    def text(self) -> str:
        return self._text.text()


def _html(values: CardValues) -> str:
    lines = "".join(
        f'<tr><td><span style="color:{row.colour}">&#9632;</span>&nbsp;{for_html(row.name)}</td>'
        f'<td align="right">&nbsp;&nbsp;{for_html(row.size)}</td></tr>'
        for row in values.rows
    )
    more = f"<tr><td colspan=2>{for_html(values.more)}</td></tr>" if values.more else ""
    said = "<br>".join(map(for_html, values.verdict.splitlines()))
    return (
        f"<b>{for_html(values.title)}</b><br><span style='color:{values.colour}'>{said}</span>"
        f'<table cellspacing="0" cellpadding="0">{lines}{more}</table>'
    )
