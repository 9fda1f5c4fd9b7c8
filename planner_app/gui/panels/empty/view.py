"""The page before a model is open: what to do, or why the last model could not be opened."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from planner_app.gui.look.plain_label import PlainLabel
from planner_app.jobs.interpreter import MENU

WELCOME = "How much GPU memory does your training need?"
WHAT_TO_DO = (
    "Drop a saved Keras model here (.keras, .h5, a SavedModel folder, a model's .json), or open one.\n"
    "Nothing in the file is run, no weights are loaded and no GPU is needed."
)


class EmptyView(QWidget):
    open_clicked = Signal()
    demo_clicked = Signal()
    log_clicked = Signal()
    cancel_clicked = Signal()
    python_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._title, self._text, self._detail = PlainLabel(), PlainLabel(), PlainLabel()
        large = QFont(self.font())
        large.setPointSizeF(large.pointSizeF() * 1.8)
        self._title.setFont(large)
        for label in (self._text, self._detail):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setFixedWidth(320)
        self.open_button, self.demo_button = QPushButton("&Open a model …"), QPushButton("Try the &demo model")
        self.log_button = QPushButton("Read an out-of-memory &log …")
        self.cancel_button, self.python_button = QPushButton("&Cancel"), QPushButton("Choose a &Python …")
        self.open_button.clicked.connect(self.open_clicked)
        self.demo_button.clicked.connect(self.demo_clicked)
        self.log_button.clicked.connect(self.log_clicked)
        self.cancel_button.clicked.connect(self.cancel_clicked)
        self.python_button.clicked.connect(self.python_clicked)
        buttons = QHBoxLayout()
        for button in (self.python_button, self.open_button, self.demo_button, self.log_button, self.cancel_button):
            button.setMinimumWidth(160)
            buttons.addWidget(button)
        column = QVBoxLayout(self)
        column.setSpacing(14)
        column.addStretch(2)
        for label in (self._title, self._text, self._detail):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            label.setWordWrap(True)
            column.addWidget(label)
        column.addWidget(self._bar, 0, Qt.AlignmentFlag.AlignHCenter)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addLayout(buttons)
        row.addStretch(1)
        column.addLayout(row)
        column.addStretch(3)
        self.show_welcome()

    def show_welcome(self) -> None:
        self._show(WELCOME, WHAT_TO_DO, "", working=False)

    def show_working(self, name: str, text: str) -> None:
        self._show(f"Opening {name}", f"{text} …" if text else "", "", working=True)

    def show_trouble(self, why: str, detail: str) -> None:
        self._show("This model can't be opened", why, detail, working=False)
        self._offer_python(MENU in why)

    def show_no_python(self, why: str) -> None:
        self._show("Plimsoll needs a Python with TensorFlow", why, "", working=False)
        self._offer_python(True)

    def _offer_python(self, on: bool) -> None:
        """Replaces the demo button, since the demo can't be opened either."""
        self.python_button.setVisible(on)
        self.demo_button.setVisible(not on)

    def _show(self, title: str, text: str, detail: str, *, working: bool) -> None:
        for label, content in ((self._title, title), (self._text, text), (self._detail, detail)):
            label.setText(content)
            label.setVisible(bool(content))
        self._bar.setVisible(working)
        self.cancel_button.setVisible(working)
        self.python_button.hide()
        self.open_button.setVisible(not working)
        self.demo_button.setVisible(not working)
        self.log_button.setVisible(not working)

    @property
    def text(self) -> str:
        return " ".join(label.text() for label in (self._title, self._text, self._detail) if label.text())
