"""The dialog that shows whether this computer has what planning needs."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from planner_app.core.checkup import MARKS, Finding, State, as_text, can_plan, summary
from planner_app.foreign_text import for_html
from planner_app.gui.look.paper import Paper, tint
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.theme import Theme

SIZE = (760, 460)


class CheckupView(QDialog):
    again_clicked = Signal()

    def __init__(self, parent: QWidget | None, theme: Theme) -> None:
        super().__init__(parent)
        self.setWindowTitle("Check this computer")
        self.resize(*SIZE)
        self._theme = theme
        self._findings: tuple[Finding, ...] = ()
        self.summary, self.paper = PlainLabel(wordWrap=True), Paper("What was found")
        self.bar = QProgressBar(textVisible=False, maximum=0)
        self.again, self.copy, self.close_button = (
            QPushButton("Check &again"),
            QPushButton("&Copy"),
            QPushButton("C&lose"),
        )
        self.copy.setToolTip("Copy everything as text, for a report")
        row = QHBoxLayout()
        row.addWidget(self.again)
        row.addWidget(self.copy)
        row.addStretch(1)
        row.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setSpacing(10)
        for widget in (self.summary, self.bar):
            column.addWidget(widget)
        column.addWidget(self.paper, 1)
        column.addLayout(row)
        self.again.clicked.connect(self.again_clicked)
        self.copy.clicked.connect(self._on_copy)
        self.close_button.clicked.connect(self.close)
        self.close_button.setDefault(True)

    def show_working(self, text: str) -> None:
        self._say(f"{text[:1].upper()}{text[1:]} …", self._theme.text, working=True)

    def show_trouble(self, why: str) -> None:
        self._say(why, self._theme.bad, working=False)

    def show_findings(self, findings: Sequence[Finding]) -> None:
        self._findings = tuple(findings)
        self.show_theme(self._theme)

    def show_theme(self, theme: Theme) -> None:
        self._theme = theme
        if self._findings:
            self.paper.show_text(_table(self._findings, theme))
            good = can_plan(self._findings)
            self._say(summary(self._findings), theme.good if good else theme.bad, working=False)

    def _say(self, text: str, colour: str, *, working: bool) -> None:
        self.summary.setText(text)
        tint(self.summary, colour)
        self.bar.setVisible(working)
        self.again.setEnabled(not working)
        self.copy.setEnabled(bool(self._findings))

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(as_text(self._findings))


def _table(findings: Sequence[Finding], theme: Theme) -> str:
    colours = {State.FINE: theme.good, State.NOTE: theme.warn, State.MISSING: theme.bad}
    rows = "".join(
        f'<tr><td style="padding:0 10px 6px 0;color:{colours[each.state]}"><b>{MARKS[each.state]}</b></td>'
        f'<td style="padding:0 18px 6px 0;white-space:nowrap;color:{theme.muted}">{for_html(each.name)}</td>'
        f'<td style="padding:0 0 6px 0">{for_html(each.text)}</td></tr>'
        for each in findings
    )
    return f'<table cellspacing="0" cellpadding="0">{rows}</table>'
