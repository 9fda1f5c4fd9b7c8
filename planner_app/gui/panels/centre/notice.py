"""A notice above the chart, for what went wrong while a model is open: nothing is closed because of it."""

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QToolButton, QWidget

from planner_app.gui.look.paper import tint
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.centre.remedy import Remedy

EDGE = 4


class Notice(QWidget):
    remedy_clicked = Signal(Remedy)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._remedy: Remedy | None = None
        self.text, self.remedy, self.dismiss = PlainLabel(wordWrap=True), QPushButton(), QToolButton()
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.dismiss.setText("Dismiss")
        self.dismiss.setAutoRaise(True)
        self.dismiss.clicked.connect(self.hide)
        self.remedy.clicked.connect(self._on_remedy_clicked)
        row = QHBoxLayout(self)
        row.setContentsMargins(16 + EDGE, 8, 10, 8)
        row.addWidget(self.text, 1)
        row.addWidget(self.remedy)
        row.addWidget(self.dismiss)
        self.set_theme(theme)
        self.hide()

    def say(self, sentence: str, detail: str = "", remedy: Remedy | None = None) -> None:
        self._remedy = remedy
        self.text.setText(sentence)
        self.text.setToolTip(detail)
        self.setAccessibleName(sentence)
        self.remedy.setVisible(remedy is not None)
        self.remedy.setText(remedy.button if remedy else "")
        self.show()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        tint(self.text, theme.text)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.raised))
        painter.fillRect(QRectF(0, 0, EDGE, self.height()), QColor(self._theme.bad))
        painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), QColor(self._theme.grid))

    def _on_remedy_clicked(self) -> None:
        """It stays until a model is being opened: a file dialog may be cancelled."""
        if self._remedy is not None:
            self.remedy_clicked.emit(self._remedy)
