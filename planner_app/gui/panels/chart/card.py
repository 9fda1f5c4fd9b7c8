"""The card beside the crosshair: one point of the chart and what its memory consists of."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from planner_app.foreign_text import for_html

DISTANCE = 18  # from the pointer


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


class Card(QFrame):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._room = parent
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = QLabel()
        self._text.setTextFormat(Qt.TextFormat.RichText)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 7, 10, 7)
        column.addWidget(self._text)
        self.hide()

    def show_values(self, values: CardValues, at: QPoint) -> None:
        self._text.setText(_html(values.title, values.verdict, values.colour, values.rows))
        self.adjustSize()
        room = self._room.rect()
        left = at.x() + DISTANCE
        if left + self.width() > room.right():
            left = at.x() - DISTANCE - self.width()
        top = min(max(at.y() - self.height() // 2, 4), room.bottom() - self.height() - 4)
        self.move(max(left, 4), top)
        self.show()
        self.raise_()

    @property
    def text(self) -> str:
        return self._text.text()


def _html(title: str, verdict: str, colour: str, rows: Sequence[CardRow]) -> str:
    lines = "".join(
        f'<tr><td><span style="color:{row.colour}">&#9632;</span>&nbsp;{for_html(row.name)}</td>'
        f'<td align="right">&nbsp;&nbsp;{for_html(row.size)}</td></tr>'
        for row in rows
    )
    return (
        f"<b>{for_html(title)}</b><br><span style='color:{colour}'>{for_html(verdict)}</span>"
        f'<table cellspacing="0" cellpadding="1">{lines}</table>'
    )
