"""Plain text widgets: names come from files, and may look like markup or reverse the text direction."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QMessageBox, QWidget

from planner_app.foreign_text import for_html, for_terminal


class PlainLabel(QLabel):
    def __init__(self, text: str = "", *, wordWrap: bool = False) -> None:
        super().__init__(for_terminal(text))
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wordWrap)

    def setText(self, text: str) -> None:
        super().setText(for_terminal(text))

    def setToolTip(self, text: str) -> None:
        super().setToolTip(plain_tip(text))


class ElidedLabel(PlainLabel):
    """A line that is cut where there is no room for it, instead of widening the window; or it wraps, as set."""

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.wordWrap() or self.width() >= self.sizeHint().width():
            super().paintEvent(event)
            return
        painter, room = QPainter(self), self.contentsRect()
        shown = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(room, self.alignment(), shown)


def plain_tip(text: str) -> str:
    """For a tooltip, which Qt treats as markup if it looks like it."""
    if not set(text) & set("<&"):
        return for_terminal(text)
    return f'<p style="white-space:pre-wrap">{for_html(text)}</p>'


def warn(parent: QWidget, sentence: str) -> None:
    box = QMessageBox(QMessageBox.Icon.Warning, "Plimsoll", for_terminal(sentence), parent=parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.exec()


def agreed(parent: QWidget, title: str, question: str) -> bool:
    """Ask a question; anything but a clear yes is a no."""
    buttons = QMessageBox.StandardButton.Yes | QMessageBox.StandardButton.No
    box = QMessageBox(QMessageBox.Icon.Question, title, for_terminal(question), buttons, parent=parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setDefaultButton(QMessageBox.StandardButton.No)
    return box.exec() == QMessageBox.StandardButton.Yes
