"""The plan panel: options on the left; the plan, its file and its script as tabs on the right."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QFontDatabase, QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QSplitter,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from planner_app.core.plan.script import script_of
from planner_app.files.plans import plan_text
from planner_app.gui.look.paper import Paper, tint
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.tabs import TabStyle
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.plan.fields import PlanFields
from planner_app.gui.panels.plan.table import LadderTable
from planner_app.gui.panels.plan.values import PlanValues, rung_rows
from planner_app.gui.panels.plan.words import plan_html

LEFT = 250


class PlanView(QWidget):
    terms_changed = Signal()
    save_clicked = Signal()
    copy_clicked = Signal()
    open_clicked = Signal()
    shown = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._values, self._file = theme, PlanValues(), ""
        self.ladder, self.paper = LadderTable(theme), Paper("The plan in words")
        self.json, self.script = _text("The plan file"), _text("The training script")
        split = QSplitter()
        split.addWidget(self.ladder)
        split.addWidget(self.paper)
        split.setSizes([660, 340])
        self.pages = QTabWidget(documentMode=True)
        self._tab_style = TabStyle()
        self.pages.tabBar().setStyle(self._tab_style)
        for title, page in (("Plan", split), ("JSON", self.json), ("Training script", self.script)):
            self.pages.addTab(page, title)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 6, 8, 6)
        row.setSpacing(10)
        row.addWidget(self._fields())
        row.addWidget(self.pages, 1)
        self.show_values(self._values, "", theme)

    def _fields(self) -> QWidget:
        self.fields = PlanFields()
        self.save, self.copy = QPushButton("&Save the plan …"), QPushButton("Copy the s&cript")
        self.open = QPushButton("&Open a plan …")
        self.copy.setToolTip("Copy a complete training script that follows this plan")
        self.open.setToolTip("Show a plan file, and choose its setup and device")
        self.said = PlainLabel(wordWrap=True)
        page = QWidget()
        page.setFixedWidth(LEFT)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(5)
        column.addWidget(self.fields, 1)
        pair = QHBoxLayout()
        pair.addWidget(self.save)
        pair.addWidget(self.copy)
        column.addLayout(pair)
        column.addWidget(self.open)
        column.addWidget(self.said)
        self.fields.changed.connect(self.terms_changed)
        self.save.clicked.connect(self.save_clicked)
        self.copy.clicked.connect(self.copy_clicked)
        self.open.clicked.connect(self.open_clicked)
        return page

    def show_values(self, values: PlanValues, file: str, theme: Theme) -> None:
        """`file` is where a script would look for the plan."""
        self._values, self._theme, self._file = values, theme, file
        plan = values.plan
        self.ladder.show_rows(rung_rows(plan) if plan is not None else (), theme)
        self.ladder.setColumnHidden(0, plan is None or len(plan.devices) == 1)
        self.ladder.setVisible(plan is not None)
        self.paper.show_text(plan_html(values, theme))
        _fill(self.json, plan_text(plan) if plan is not None else "")
        _fill(self.script, script_of(plan, file) if plan is not None else "")
        self.set_current(True)
        self.fields.setEnabled(not values.file)
        self.pages.setTabText(0, f"Plan: {values.file}" if values.file else "Plan")
        tint(self.said, theme.muted)

    def set_current(self, on: bool) -> None:
        """Whether the visible plan is for the chosen setup; only then can it be saved and copied."""
        for button in (self.save, self.copy):
            button.setEnabled(on and self._values.plan is not None)

    def say(self, sentence: str, *, trouble: bool = False) -> None:
        self.said.setText(sentence)
        self.said.setToolTip(sentence)
        tint(self.said, self._theme.bad if trouble else self._theme.muted)

    def set_theme(self, theme: Theme) -> None:
        self.show_values(self._values, self._file, theme)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.shown.emit(False)


def _text(name: str) -> QPlainTextEdit:
    page = QPlainTextEdit(readOnly=True)
    page.setAccessibleName(name)
    page.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
    page.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    return page


def _fill(page: QPlainTextEdit, text: str) -> None:
    """Keeps the scroll position if the text is unchanged."""
    if page.toPlainText() != text:
        page.setPlainText(text)
