"""The advice panel: the request on the left, the changes in the middle, details of one on the right."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSpinBox,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from planner_app.core.estimate.verdict import Verdict
from planner_app.gui.look.paper import Paper, code, paragraph, tint
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.advice.table import AdviceTable
from planner_app.gui.panels.advice.values import AdviceValues, Row

MOST_BATCH = 1 << 24
LEFT = 240
IN_ENVIRONMENT = "A setup can't express this: copy the lines into your script."


class AdviceView(QWidget):
    work_clicked = Signal()
    cancel_clicked = Signal()
    applied = Signal(Row)
    shown = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._values = theme, AdviceValues()
        self._verdict: Verdict | None = None
        self._open = self._trouble = False
        self._chosen_batch = 0
        self.table, self.detail = AdviceTable(), Paper("Details of the change")
        self._lay_out()
        self.table.row_chosen.connect(self._on_row_chosen)
        self.table.row_used.connect(self._on_row_used)
        self.work.clicked.connect(self.work_clicked)
        self.cancel.clicked.connect(self.cancel_clicked)
        self.apply.clicked.connect(lambda: self._on_row_used(self.table.chosen()))
        self.copy.clicked.connect(self._on_copy_clicked)
        self.set_open(False)
        self.show_working(False)
        self.show_values(self._values, theme)

    def _lay_out(self) -> None:
        middle = QWidget()
        self.right = right = QWidget()
        self.note = PlainLabel(wordWrap=True)
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.note, 0, Qt.AlignmentFlag.AlignTop)
        column.addWidget(self.table, 1)
        self.apply, self.copy = QPushButton("&Apply"), QPushButton("Cop&y the code")
        buttons = QHBoxLayout()
        buttons.addWidget(self.apply)
        buttons.addWidget(self.copy)
        buttons.addStretch(1)
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.detail, 1)
        column.addLayout(buttons)
        split = QSplitter()
        split.addWidget(middle)
        split.addWidget(right)
        split.setSizes([680, 340])
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 6, 8, 6)
        row.setSpacing(10)
        row.addWidget(self._fields())
        row.addWidget(split, 1)

    def _fields(self) -> QWidget:
        self.verdict, self.doing = PlainLabel(wordWrap=True), PlainLabel(wordWrap=True)
        self.verdict.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.batch = QSpinBox(maximum=MOST_BATCH, minimum=1)
        self.batch.setGroupSeparatorShown(True)
        self.batch.setAccessibleName("Batch that should fit")
        self.batch.setToolTip("Samples per update, over all GPUs and accumulation steps.")
        wanted = QHBoxLayout()
        label = QLabel("&Make a batch of")
        label.setBuddy(self.batch)
        for each in (label, self.batch, QLabel("fit")):
            wanted.addWidget(each)
        wanted.addStretch(1)
        self.work, self.cancel = QPushButton("&Get advice"), QPushButton("Cance&l")
        self.work.setToolTip("Trace the changes that may help, and replay each through the allocator.")
        buttons = QHBoxLayout()
        buttons.addWidget(self.work)
        buttons.addWidget(self.cancel)
        self.bar = QProgressBar(textVisible=False)
        self.bar.setRange(0, 0)
        page = QWidget()
        page.setFixedWidth(LEFT)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.verdict)
        column.addLayout(wanted)
        column.addLayout(buttons)
        column.addWidget(self.bar)
        column.addWidget(self.doing)
        column.addStretch(1)
        return page

    # Showing

    def show_verdict(self, sentence: str, verdict: Verdict | None) -> None:
        self.verdict.setText(sentence)
        self._verdict = verdict
        self._paint()

    def show_batch(self, batch: int, least: int) -> None:
        """Show the choice; a batch that the user has entered since stays until another one is chosen."""
        self.batch.setMinimum(least)
        if batch != self._chosen_batch:
            self._chosen_batch = batch
            self.batch.setValue(batch)

    def show_values(self, values: AdviceValues, theme: Theme) -> None:
        self._values, self._theme = values, theme
        title = f"For {values.asked}." if values.asked else ""
        self.note.setText(f"{title} {values.note}".strip())
        self.note.setVisible(bool(self.note.text()))
        self.table.show_rows(values.rows, values.applied, theme)
        for part in (self.table, self.right):
            part.setVisible(bool(values.rows))
        self._paint()

    def show_working(self, working: bool) -> None:
        self.work.setEnabled(self._open and not working)
        self.cancel.setEnabled(working)
        self.bar.setVisible(working)
        self.say("")

    def set_open(self, on: bool) -> None:
        self._open = on
        self.work.setEnabled(on)
        self.batch.setEnabled(on)

    def say(self, sentence: str, detail: str = "") -> None:
        self._trouble = False
        self._tell(sentence, detail)

    def show_trouble(self, sentence: str, detail: str = "") -> None:
        self._trouble = True
        self._tell(sentence, detail)

    def _tell(self, sentence: str, detail: str) -> None:
        self.doing.setText(sentence)
        self.doing.setToolTip(detail)
        self._paint()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.table.show_rows(self._values.rows, self._values.applied, theme)
        self._paint()

    def _paint(self) -> None:
        theme = self._theme
        tint(self.verdict, theme.verdict(self._verdict))
        tint(self.doing, theme.bad if self._trouble else theme.muted)
        tint(self.note, theme.warn if self._values.stale else theme.muted)

    def _on_row_chosen(self, row: Row | None) -> None:
        applied = row is not None and self._values.applied == self.table.currentRow()
        self.apply.setEnabled(row is not None and row.setup is not None and not applied)
        self.apply.setText("Applied" if applied else "&Apply")
        self.apply.setToolTip("Choose this setup (Enter)" if row is None or row.setup else IN_ENVIRONMENT)
        self.copy.setEnabled(row is not None and bool(row.code))
        self.detail.show_text("" if row is None else _in_full(row, self._theme))

    def _on_row_used(self, row: Row | None) -> None:
        if row is not None and row.setup is not None:
            self.applied.emit(row)

    def _on_copy_clicked(self) -> None:
        if (row := self.table.chosen()) is not None:
            QGuiApplication.clipboard().setText("\n".join(row.code) + "\n")

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()


def _in_full(row: Row, theme: Theme) -> str:
    known = f" ({row.speed_source})" if row.speed_source else ""
    figures = "; ".join(filter(None, (row.memory, f"{row.speed}{known}" if row.speed else "")))
    parts = [paragraph(f"{row.text}.", bold=True)]
    if figures:
        parts.append(paragraph(f"{figures}.", theme.good if row.rank.isdecimal() else theme.muted))
    if row.code:
        parts.append(code(row.code, theme))
    parts += [paragraph(caveat, theme.muted) for caveat in row.caveats]
    return "".join(parts)
