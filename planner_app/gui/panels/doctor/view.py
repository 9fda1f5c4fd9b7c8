"""The doctor panel: the log on the left, the diagnosis in the middle, the relevant lines on the right."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QSplitter, QVBoxLayout, QWidget

from planner_app.gui.look.paper import Paper, tint
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.doctor.field import LogField, file_in
from planner_app.gui.panels.doctor.values import DoctorValues
from planner_app.gui.panels.doctor.words import evidence_text, verdict_text

REST_MS = 400  # typing has stopped


class DoctorView(QWidget):
    file_given = Signal(str)
    text_given = Signal(str)
    open_clicked = Signal()
    cleared = Signal()
    cancel_clicked = Signal()
    fill_clicked = Signal()
    compare_clicked = Signal()
    shown = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._values = theme, DoctorValues()
        self.setAcceptDrops(True)
        self.verdict, self.evidence = Paper("What the log says"), Paper("The lines that show it")
        for paper in (self.verdict, self.evidence):
            paper.setAcceptDrops(False)  # the panel itself handles dropped files
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._lay_out()
        self._connect()
        self.show_working(False)
        self.show_values(self._values, theme)

    def _lay_out(self) -> None:
        split = QSplitter()
        for page in (self._given(), self._diagnosis(), self.evidence):
            split.addWidget(page)
        split.setSizes([240, 620, 400])
        split.setStretchFactor(1, 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 6, 8, 6)
        row.addWidget(split)

    def _given(self) -> QWidget:
        self.log, self.name, self.doing = LogField(), PlainLabel(wordWrap=True), PlainLabel(wordWrap=True)
        self.open, self.clear = QPushButton("&Open a log …"), QPushButton("C&lear")
        self.cancel, self.bar = QPushButton("Cancel"), QProgressBar(textVisible=False)
        above, below = QHBoxLayout(), QHBoxLayout()
        for button in (self.open, self.clear):
            above.addWidget(button)
        below.addWidget(self.bar, 1)
        below.addWidget(self.cancel)
        column = _column(page := QWidget())
        column.addWidget(self.name)
        column.addWidget(self.log, 1)
        column.addWidget(self.doing)
        column.addLayout(below)
        column.addLayout(above)
        return page

    def _diagnosis(self) -> QWidget:
        self.fill, self.compare = QPushButton("&Fill the setup from the log"), QPushButton("Compare a&gain")
        self.compare.setToolTip("Compare the log with the estimate for the chosen setup")
        self.filled_in = PlainLabel()
        buttons = QHBoxLayout()
        buttons.addWidget(self.fill)
        buttons.addWidget(self.compare)
        buttons.addWidget(self.filled_in, 1)
        column = _column(page := QWidget())
        column.addWidget(self.verdict, 1)
        column.addLayout(buttons)
        return page

    def _connect(self) -> None:
        self.log.textChanged.connect(self._rest.start)
        self._rest.timeout.connect(lambda: self.text_given.emit(self.log.toPlainText()))
        self.log.file_given.connect(self.file_given)
        self.log.long_text_given.connect(self.text_given)
        for button, signal in (
            (self.open, self.open_clicked),
            (self.clear, self.cleared),
            (self.cancel, self.cancel_clicked),
            (self.fill, self.fill_clicked),
            (self.compare, self.compare_clicked),
        ):
            button.clicked.connect(signal)

    # Showing

    def show_values(self, values: DoctorValues, theme: Theme) -> None:
        self._values, self._theme = values, theme
        self.name.setText(values.log)
        self.name.setVisible(bool(values.log))
        self.clear.setEnabled(bool(values.log))
        self.verdict.show_text(verdict_text(values, theme))
        self.evidence.show_text(evidence_text(values, theme))
        self.fill.setEnabled(bool(values.fill))
        self.fill.setVisible(values.beside is not None and values.beside.compared is not None)
        self.filled_in.setText(values.fill)
        self.filled_in.setToolTip(values.fill)
        self.filled_in.setVisible(values.beside is not None)
        self.compare.setVisible(values.stale)
        self._paint()

    def show_working(self, working: bool) -> None:
        self.bar.setVisible(working)
        self.cancel.setVisible(working)
        self.bar.setRange(0, 0)
        self.say("")

    def show_progress(self, done: int, of: int, text: str) -> None:
        self.bar.setRange(0, of)
        self.bar.setValue(done)
        self.say(text)

    def say(self, sentence: str, *, trouble: bool = False) -> None:
        self.doing.setText(sentence)
        self.doing.setVisible(bool(sentence))
        tint(self.doing, self._theme.bad if trouble else self._theme.muted)

    def empty(self) -> None:
        """Without a signal, since another log is read now."""
        self.log.blockSignals(True)
        self.log.clear()
        self.log.blockSignals(False)
        self._rest.stop()

    def set_theme(self, theme: Theme) -> None:
        self.show_values(self._values, theme)

    def _paint(self) -> None:
        tint(self.name, self._theme.text)
        tint(self.filled_in, self._theme.muted)

    # A file dropped anywhere on the panel is a log; on the rest of the window it is a model.

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if file_in(event.mimeData()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        if path := file_in(event.mimeData()):
            self.file_given.emit(path)
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()


def _column(page: QWidget) -> QVBoxLayout:
    column = QVBoxLayout(page)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(4)
    return column
