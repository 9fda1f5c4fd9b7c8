"""The page of a model whose first line is still being worked out: what is known, and what is going on."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from planner_app.core.model.at_once import StateAtOnce
from planner_app.gui.look.paper import tint
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.short import short
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.centre.at_once import AtOnceView

WIDE = 780  # as on the first page, where it was opened
MOST_LETTERS = 44  # of a name in large letters
TRACING = "tracing the training step"
STOPPED = "Stopped before the first line was there."


class WaitingPage(QWidget):
    cancel_clicked = Signal()
    resume_clicked = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.title, self.activity, self.at_once = PlainLabel(), PlainLabel(), AtOnceView(theme)
        large = QFont(self.font())
        large.setPointSizeF(large.pointSizeF() * 1.8)
        self.title.setFont(large)
        self._bar = QProgressBar(textVisible=False)
        self._bar.setRange(0, 0)
        self._bar.setFixedSize(320, 6)
        self.cancel, self.resume = QPushButton("&Cancel"), QPushButton("&Go on")
        self.cancel.clicked.connect(self.cancel_clicked)
        self.resume.clicked.connect(self.resume_clicked)
        body = QWidget()
        body.setMaximumWidth(WIDE)
        column = QVBoxLayout(body)
        column.setSpacing(14)
        column.addStretch(2)
        for label in (self.title, self.activity):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            column.addWidget(label)
        column.addWidget(self._bar, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.at_once)
        for button in (self.cancel, self.resume):
            button.setMinimumSize(150, 30)
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(3)
        row = QHBoxLayout(self)
        row.addStretch(1)
        row.addWidget(body, 20)
        row.addStretch(1)
        self.set_theme(theme)

    def show_model(self, name: str, state: StateAtOnce | None) -> None:
        self.title.setText(short(name, MOST_LETTERS))
        self.at_once.show_state(state)
        self.show_activity(TRACING)

    def show_activity(self, text: str) -> None:
        """The last activity stays, so that nothing flickers between two."""
        if text:
            self._show(f"{text} …", working=True)

    def show_stopped(self) -> None:
        self._show(STOPPED, working=False)

    def _show(self, text: str, *, working: bool) -> None:
        self.activity.setText(text)
        self._bar.setVisible(working)
        self.cancel.setVisible(working)
        self.resume.setVisible(not working)

    def set_theme(self, theme: Theme) -> None:
        self.at_once.set_theme(theme)
        tint(self.activity, theme.muted)
