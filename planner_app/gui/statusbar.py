"""The status bar: whether the chosen setup fits, and the current activity."""

from PySide6.QtCore import QObject
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QProgressBar, QStatusBar, QToolButton

from planner_app.core.estimate.verdict import Verdict
from planner_app.files.writing import unkept
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.theme import Appearance
from planner_app.gui.session import Session
from planner_app.gui.status import verdict

NOTICE_MS = 20_000


class StatusPresenter(QObject):
    def __init__(self, session: Session, bar: QStatusBar, appearance: Appearance) -> None:
        super().__init__(bar)
        self._session, self._bar, self._appearance = session, bar, appearance
        self._verdict: Verdict | None = None
        self.sentence, self.work = PlainLabel(), PlainLabel()
        self.sentence.setAccessibleName("Whether the chosen setup fits")
        self.progress, self.cancel = QProgressBar(), QToolButton()
        self.progress.setFixedWidth(130)
        self.progress.setTextVisible(False)
        self.cancel.setText("Cancel")
        self.cancel.setAutoRaise(True)
        self.cancel.clicked.connect(session.cancel)
        bar.addWidget(self.sentence, 1)
        for widget in (self.work, self.progress, self.cancel):
            bar.addPermanentWidget(widget)
            widget.hide()
        for signal in (session.model_changed, session.choice_changed, session.memories_changed):
            signal.connect(self._refresh)
        session.progressed.connect(self._on_progressed)
        appearance.changed.connect(self._paint)

    def say(self, notice: str) -> None:
        """Show a message for a moment."""
        self._bar.showMessage(notice, NOTICE_MS)

    def _refresh(self) -> None:
        if notice := unkept():
            self.say(notice)
        choice = self._session.choice
        need = self._session.need(choice.setup)
        if self._session.opened is None:
            text, self._verdict = "", None
        elif need is None or not need.memory.points:
            trouble = self._session.trouble(choice.setup)
            text = trouble or "Tracing the training step …"
            self._verdict = Verdict.DOES_NOT_FIT if trouble else None
        else:
            text, self._verdict = verdict(choice, need)
        self.sentence.setText(text)
        self.sentence.setToolTip(text)
        self._paint()

    def _paint(self) -> None:
        theme = self._appearance.theme
        palette = self.sentence.palette()
        colour = theme.verdict(self._verdict)
        palette.setColor(QPalette.ColorRole.WindowText, colour)
        self.sentence.setPalette(palette)

    def _on_progressed(self, done: int, of: int, text: str) -> None:
        for widget in (self.work, self.progress, self.cancel):
            widget.setVisible(bool(text))
        self.progress.setRange(0, of)
        self.progress.setValue(done)
        self.work.setText(f"{text} ({done + 1} of {of})" if of else text)
