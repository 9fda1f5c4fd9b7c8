"""The page before a model is open: what to do, what is being opened, or why it could not be."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from planner_app.gui.look.paper import tint
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.short import short
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.centre.at_once import AtOnceView
from planner_app.gui.panels.centre.recent import Recent, RecentList
from planner_app.gui.panels.centre.remedy import Remedy
from planner_app.gui.panels.centre.waiting_page import MOST_LETTERS
from planner_app.jobs.interpreter import MENU

WELCOME = "How much GPU memory does your training need?"
WHAT_TO_DO = (
    "Drop a saved Keras model here (.keras, .h5, a SavedModel folder, a model's .json), or open one.\n"
    "Nothing in the file is run, no weights are loaded and no GPU is needed."
)
LOG_TOO = "Ran out of memory? Drop or paste the log of the training: Ctrl+V works anywhere."
WIDE = 620


class FirstPage(QWidget):
    open_clicked = Signal()
    demo_clicked = Signal()
    log_clicked = Signal()
    cancel_clicked = Signal()
    python_clicked = Signal()
    remedy_clicked = Signal(Remedy)
    recent_clicked = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._title, self._text, self._detail = PlainLabel(), PlainLabel(), PlainLabel()
        self._log_too, self._recent_title = PlainLabel(LOG_TOO), PlainLabel("Recent models")
        large = QFont(self.font())
        large.setPointSizeF(large.pointSizeF() * 1.8)
        self._title.setFont(large)
        for label in (self._text, self._detail):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._bar = QProgressBar(textVisible=False)
        self._bar.setRange(0, 0)
        self._bar.setFixedSize(320, 6)
        self.at_once, self.recent = AtOnceView(theme), RecentList(theme)
        self.recent.opened.connect(self.recent_clicked)
        self._remedy: Remedy | None = None
        self._make_buttons()
        self._lay_out()
        self.set_theme(theme)
        self.show_welcome()

    def _make_buttons(self) -> None:
        self.open_button, self.demo_button = QPushButton("&Open a model …"), QPushButton("Try the &demo model")
        self.log_button = QPushButton("Read a &log …")
        self.cancel_button, self.python_button = QPushButton("&Cancel"), QPushButton("Choose a &Python …")
        self.remedy_button = QPushButton()
        self.open_button.setDefault(True)
        for button, signal in (
            (self.open_button, self.open_clicked),
            (self.demo_button, self.demo_clicked),
            (self.log_button, self.log_clicked),
            (self.cancel_button, self.cancel_clicked),
            (self.python_button, self.python_clicked),
        ):
            button.clicked.connect(signal)
        self.remedy_button.clicked.connect(self._on_remedy_clicked)

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        for button in (
            *(self.remedy_button, self.python_button, self.open_button),
            *(self.demo_button, self.log_button, self.cancel_button),
        ):
            button.setMinimumWidth(150)
            button.setMinimumHeight(30)
            buttons.addWidget(button)
        buttons.addStretch(1)
        column = QVBoxLayout()
        column.setSpacing(14)
        column.addStretch(2)
        for label in (self._title, self._text, self._detail):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
            column.addWidget(label)
        column.addWidget(self._bar, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(self.at_once)
        column.addLayout(buttons)
        self._log_too.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column.addWidget(self._log_too)
        column.addSpacing(10)
        column.addWidget(self._recent_title)
        column.addWidget(self.recent)
        column.addStretch(3)
        body = QWidget()
        body.setLayout(column)
        body.setMaximumWidth(WIDE + 160)
        row = QHBoxLayout(self)
        row.addStretch(1)
        row.addWidget(body, 20)
        row.addStretch(1)

    def set_theme(self, theme: Theme) -> None:
        self.recent.set_theme(theme)
        self.at_once.set_theme(theme)
        for label in (self._detail, self._log_too, self._recent_title):
            tint(label, theme.muted)

    def show_recent(self, entries: tuple[Recent, ...]) -> None:
        self.recent.show_entries(entries)
        self._recent_title.setVisible(bool(entries) and not self._working)
        self.recent.setVisible(bool(entries) and not self._working)

    def show_welcome(self) -> None:
        self._show(WELCOME, WHAT_TO_DO, "", working=False)

    def show_working(self, name: str, text: str) -> None:
        self._show(f"Opening {short(name, MOST_LETTERS)}", f"{text} …" if text else "", "", working=True)

    def show_trouble(self, why: str, detail: str, remedy: Remedy | None) -> None:
        self._show("This model can't be opened", why, detail, working=False)
        self._offer_python(MENU in why)
        self._remedy = remedy
        if remedy is not None:
            self.remedy_button.setText(remedy.button)
            self.remedy_button.show()
            self.remedy_button.setDefault(True)
            self.open_button.setDefault(False)
            self.demo_button.hide()

    def show_no_python(self, why: str) -> None:
        self._show("Plimsoll needs a Python with TensorFlow", why, "", working=False)
        self._offer_python(True)

    def _offer_python(self, on: bool) -> None:
        """Replaces the demo button, since the demo can't be opened either."""
        self.python_button.setVisible(on)
        self.demo_button.setVisible(not on)

    def _show(self, title: str, text: str, detail: str, *, working: bool) -> None:
        self._working = working
        for label, content in ((self._title, title), (self._text, text), (self._detail, detail)):
            label.setText(content)
            label.setVisible(bool(content))
        self._bar.setVisible(working)
        self.cancel_button.setVisible(working)
        if not working:
            self.at_once.show_state(None)
        self.python_button.hide()
        self.remedy_button.hide()
        self.open_button.setDefault(True)
        for button in (self.open_button, self.demo_button, self.log_button):
            button.setVisible(not working)
        self._log_too.setVisible(not working)
        known = not working and self.recent.count() > 0
        self._recent_title.setVisible(known)
        self.recent.setVisible(known)

    def _on_remedy_clicked(self) -> None:
        if self._remedy is not None:
            self.remedy_clicked.emit(self._remedy)

    @property
    def text(self) -> str:
        return " ".join(label.text() for label in (self._title, self._text, self._detail) if label.text())
