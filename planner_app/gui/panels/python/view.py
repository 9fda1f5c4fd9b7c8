"""The dialog to choose a Python with TensorFlow."""

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from planner_app.gui.look.plain_label import PlainLabel

WHAT_FOR = (
    "Models are read and traced by a Python with TensorFlow. It may be Plimsoll's own or any other: "
    "Plimsoll need not be installed in it."
)
REST_MS = 400  # don't check a path while it is being typed
WIDTH = 640


class PythonView(QDialog):
    path_changed = Signal(str)  # a path to check; empty to search for one
    taken = Signal(str)

    def __init__(self, parent: QWidget | None, path: str, unnamed: str, note: str = "") -> None:
        super().__init__(parent)
        self.setWindowTitle("Python with TensorFlow")
        self.setMinimumWidth(WIDTH)
        self.alone, self.named = QRadioButton(unnamed), QRadioButton("&Use this one:")
        self.path, self.browse = QLineEdit(path), QPushButton("&Browse …")
        self.path.setAccessibleName("Path of a Python")
        self.path.setPlaceholderText("/path/to/environment/bin/python")
        self.found = QListWidget()
        self.found.setAccessibleName("Pythons found on this computer")
        self.found.setFixedHeight(110)
        self.answer = _wrapped("")
        self.answer.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.answer.setMinimumHeight(self.answer.fontMetrics().lineSpacing() * 4)
        buttons = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(buttons.Ok | buttons.Cancel)
        self._arrange(note)
        self._rest = QTimer(self, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self._tell_path)
        (self.named if path else self.alone).setChecked(True)
        self._connect()

    def chosen_path(self) -> str:
        return self.path.text().strip() if self.named.isChecked() else ""

    def show_checking(self) -> None:
        self.show_result("Checking it …", None)

    def show_result(self, text: str, colour: str | None, *, usable: bool = False) -> None:
        palette = self.palette()
        if colour:
            palette.setColor(QPalette.ColorRole.WindowText, QColor(colour))
        self.answer.setPalette(palette)
        self.answer.setText(text)
        self._ok.setEnabled(usable)

    def add_found(self, path: str, text: str) -> None:
        item = QListWidgetItem(f"{path}\n{text}", self.found)
        item.setData(Qt.ItemDataRole.UserRole, path)

    @property
    def _ok(self) -> QPushButton:
        return self.buttons.button(QDialogButtonBox.StandardButton.Ok)

    def _arrange(self, note: str) -> None:
        row = QHBoxLayout()
        for widget in (self.named, self.path, self.browse):
            row.addWidget(widget)
        column = QVBoxLayout(self)
        column.setSpacing(10)
        column.addWidget(_wrapped(WHAT_FOR))
        column.addWidget(self.alone)
        column.addLayout(row)
        column.addWidget(QLabel("On this computer:"))
        column.addWidget(self.found)
        column.addWidget(self.answer, 1)
        if note:
            column.addWidget(_wrapped(note))
        column.addWidget(self.buttons)

    def _connect(self) -> None:
        self.alone.toggled.connect(self._tell_path)
        self.path.textEdited.connect(self._on_edited)
        self.browse.clicked.connect(self._on_browse)
        self.found.itemClicked.connect(self._on_item)
        self.found.itemActivated.connect(self._on_item)
        self.buttons.accepted.connect(self._on_accepted)
        self.buttons.rejected.connect(self.reject)

    def _tell_path(self) -> None:
        self._rest.stop()
        self.show_checking()
        self.path_changed.emit(self.chosen_path())

    def _on_edited(self) -> None:
        self._ok.setEnabled(False)
        self.named.setChecked(True)
        self._rest.start()

    def _on_browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Choose a Python with TensorFlow", self.path.text())
        if path:
            self._name(path)

    def _on_item(self, item: QListWidgetItem) -> None:
        self._name(item.data(Qt.ItemDataRole.UserRole))

    def _name(self, path: str) -> None:
        self.path.setText(path)
        self.named.setChecked(True)
        self._tell_path()

    def _on_accepted(self) -> None:
        self.taken.emit(self.chosen_path())
        self.accept()


def _wrapped(text: str) -> QLabel:
    label = PlainLabel(text)
    label.setWordWrap(True)
    return label
