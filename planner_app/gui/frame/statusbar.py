"""The status bar: notices, and the current activity."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QProgressBar, QStatusBar, QToolButton

from planner_app.files.writing import unkept
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.state.session import Session

NOTICE_MS = 20_000


class StatusPresenter(QObject):
    def __init__(self, session: Session, bar: QStatusBar) -> None:
        super().__init__(bar)
        self._bar = bar
        self.work, self.progress, self.cancel = PlainLabel(), QProgressBar(textVisible=False), QToolButton()
        self.work.setAccessibleName("Current activity")
        self.progress.setFixedSize(130, 8)
        self.cancel.setText("Cancel")
        self.cancel.setAutoRaise(True)
        self.cancel.clicked.connect(session.cancel)
        for widget in (self.work, self.progress, self.cancel):
            bar.addPermanentWidget(widget)
            widget.hide()
        session.memories_changed.connect(self._on_memories_changed)
        session.progressed.connect(self._on_progressed)

    def say(self, notice: str) -> None:
        """Show a message for a moment."""
        self._bar.showMessage(notice, NOTICE_MS)

    def _on_memories_changed(self) -> None:
        if notice := unkept():
            self.say(notice)

    def _on_progressed(self, done: int, of: int, text: str) -> None:
        for widget in (self.work, self.progress, self.cancel):
            widget.setVisible(bool(text))
        self.progress.setRange(0, of)
        self.progress.setValue(done)
        self.work.setText(f"{text} ({done + 1} of {of})" if of else text)
