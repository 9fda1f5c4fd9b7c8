"""The log's page: what happened in large letters, what to do, and the lines that show it."""

from PySide6.QtCore import QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QFont, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QSplitter,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from planner_app.gui.look.card import Card
from planner_app.gui.look.paper import Paper, tint
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.doctor.field import LogField, file_in
from planner_app.gui.panels.doctor.values import DoctorValues
from planner_app.gui.panels.doctor.words import colour_of, evidence_text, invitation, verdict_text

REST_MS = 400  # typing has stopped
EDGE, PAD = 4, 20
LARGE = 1.5  # of the usual letters


class DoctorView(QWidget):
    file_given = Signal(str)
    text_given = Signal(str)
    open_clicked = Signal()
    model_clicked = Signal()
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
            paper.setAcceptDrops(False)  # the page itself handles dropped files
            paper.document().setDocumentMargin(PAD)
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._make()
        self._lay_out()
        self._connect()
        self.show_working("")
        self.show_values(self._values, theme)

    def _make(self) -> None:
        self.log = LogField()
        self.name, self.title, self.doing = PlainLabel(), PlainLabel(wordWrap=True), PlainLabel(wordWrap=True)
        large = QFont(self.font())
        large.setPointSizeF(large.pointSizeF() * LARGE)
        self.title.setFont(large)
        self.title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.open = QPushButton("Open a &log …")
        theme = self._theme
        self.model = Card("Open the model to be sure …", "and see which changes make it fit", theme, first=True)
        self.fill = Card("Show it in the chart", "", theme, first=True)
        self.compare = Card("Compare again", "with the chosen setup", theme)
        self.clear = Card("Read another log", "paste, drop or open it", theme)
        self.fill.setToolTip("Choose the setup that failed, and mark it on the chart")
        self.compare.setToolTip("Compare the log with the estimate for the chosen setup")
        self.cancel, self.bar = QPushButton("Cancel"), QProgressBar(textVisible=False)
        self.bar.setFixedHeight(6)
        self.bar.setMaximumWidth(320)
        self.open.setMinimumSize(self.open.sizeHint().width() + 24, 30)

    def _lay_out(self) -> None:
        self.pages = QStackedLayout()
        self.pages.addWidget(self._asking())
        self.pages.addWidget(self._diagnosis())
        working = QHBoxLayout()
        working.setContentsMargins(PAD, 0, PAD, 0)
        for widget in (self.bar, self.doing, self.cancel):
            working.addWidget(widget, 1 if widget is self.doing else 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 10)
        column.addLayout(self.pages, 1)
        column.addLayout(working)

    def _asking(self) -> QWidget:
        """Before there is a log: where to paste it."""
        page = QWidget()
        self._invited, self._kinds = PlainLabel(), PlainLabel(wordWrap=True)
        self._invited.setFont(self.title.font())
        buttons = QHBoxLayout()
        buttons.addWidget(self.open)
        buttons.addStretch(1)
        column = QVBoxLayout(page)
        column.setContentsMargins(2 * PAD, 2 * PAD, 2 * PAD, PAD)
        column.setSpacing(10)
        for widget in (self._invited, self._kinds):
            column.addWidget(widget)
        column.addWidget(self.log, 1)
        column.addLayout(buttons)
        return page

    def _diagnosis(self) -> QWidget:
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.model, self.fill, self.compare, self.clear):
            buttons.addWidget(button)
        buttons.addStretch(1)
        head = QVBoxLayout()
        head.setContentsMargins(PAD, 14, PAD, 8)
        head.setSpacing(8)
        for widget in (self.name, self.title):
            head.addWidget(widget)
        head.addLayout(buttons)
        split = QSplitter()
        for paper in (self.verdict, self.evidence):
            split.addWidget(paper)
        split.setSizes([620, 560])
        column = QVBoxLayout(page := QWidget())
        column.setContentsMargins(EDGE, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(split, 1)
        return page

    def _connect(self) -> None:
        self.log.textChanged.connect(self._rest.start)
        self._rest.timeout.connect(lambda: self.text_given.emit(self.log.toPlainText()))
        self.log.file_given.connect(self.file_given)
        self.log.long_text_given.connect(self.text_given)
        for button, signal in (
            (self.open, self.open_clicked),
            (self.model, self.model_clicked),
            (self.clear, self.cleared),
            (self.cancel, self.cancel_clicked),
            (self.fill, self.fill_clicked),
            (self.compare, self.compare_clicked),
        ):
            button.clicked.connect(signal)

    # Showing

    def show_values(self, values: DoctorValues, theme: Theme) -> None:
        self._values, self._theme = values, theme
        found, before = values.found, self.pages.currentIndex()
        self.pages.setCurrentIndex(0 if found is None else 1)
        self.name.setText(values.log)
        self.title.setText(found.verdict if found is not None else "")
        self._invited.setText(invitation()[0])
        self._kinds.setText(invitation()[1])
        self.verdict.show_text(verdict_text(values, theme))
        self.evidence.show_text(evidence_text(values, theme))
        self.model.setVisible(values.wants_model)
        self.fill.lead(not values.wants_model)
        self.fill.setEnabled(bool(values.fill))
        self.fill.setVisible(values.has_model and found is not None and found.kind.on_device)
        self.fill.say(values.fill or "chosen and marked there")
        self.compare.setVisible(values.stale)
        if found is not None and before == 0:
            (self.model if values.wants_model else self.clear).setFocus()
        for card in (self.model, self.fill, self.compare, self.clear):
            card.set_theme(theme)
        self._paint()

    def show_working(self, doing: str) -> None:
        """What is going on; nothing if it is empty."""
        self.bar.setVisible(bool(doing))
        self.cancel.setVisible(bool(doing))
        self.bar.setRange(0, 0)
        self.say(doing)

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
        theme, found = self._theme, self._values.found
        tint(self.title, theme.text if found is None else colour_of(found, theme))
        for label in (self.name, self._kinds):
            tint(label, theme.muted)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter, theme, found = QPainter(self), self._theme, self._values.found
        painter.fillRect(self.rect(), QColor(theme.surface))
        if found is not None:
            painter.fillRect(QRectF(0, 0, EDGE, self.height()), QColor(colour_of(found, theme)))

    # A file dropped anywhere on the page is a log, unless it is a model.

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
