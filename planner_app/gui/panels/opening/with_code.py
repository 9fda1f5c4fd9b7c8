"""Opens a model together with the user's code that it needs: its own classes, packages, and a batch of data."""

from collections.abc import Callable

from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QWidget,
)

from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.state.source import ModelSource

MODELS = "Keras models (*.keras *.h5 *.hdf5 *.json *.py);;All files (*)"
PYTHON = "Python files (*.py)"
RUNS = "Classes and functions of your files are run with your permissions, but without network access."
WIDTH = 620


class WithCodeDialog(QDialog):
    def __init__(self, parent: QWidget, source: ModelSource, ask_function: Callable[[str], str]) -> None:
        """`ask_function` turns a Python file into `file.py:function`; "" if the user does not choose one."""
        super().__init__(parent)
        self._ask_function = ask_function
        self.setWindowTitle("Open a model with your code")
        self.setMinimumWidth(WIDTH)
        self.model = _field("Model", source.path, "model.keras, or models.py:build_model")
        self.custom = _field("Your classes", source.custom or "", "layers.py: defines the model's own classes")
        self.trust = _field("Trusted packages", ", ".join(source.trust), "keras_hub: installed, with Keras layers")
        self.data = _field("One batch of data", source.data or "", "data.py:one_batch returns what it is trained on")
        form = QFormLayout(self)
        self._row(form, "&Model", self.model, self._browse_model)
        self._row(form, "Your &classes", self.custom, self._browse_custom)
        self._row(form, "Trusted &packages", self.trust, None)
        self._row(form, "One batch of &data", self.data, self._browse_data)
        form.addRow(PlainLabel(RUNS, wordWrap=True))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Open | QDialogButtonBox.StandardButton.Cancel)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        form.addRow(buttons)

    @property
    def source(self) -> ModelSource:
        packages = tuple(part.strip() for part in self.trust.text().split(",") if part.strip())
        custom, data = self.custom.text().strip(), self.data.text().strip()
        return ModelSource(self.model.text().strip(), custom or None, packages, data or None)

    def _row(self, form: QFormLayout, text: str, field: QLineEdit, browse: Callable[[], None] | None) -> None:
        label, row = QLabel(text), QHBoxLayout()
        label.setBuddy(field)
        row.addWidget(field, 1)
        if browse is not None:
            button = QPushButton("Browse …")
            button.setAutoDefault(False)
            button.setAccessibleName(f"Browse for: {field.accessibleName()}")
            button.clicked.connect(browse)
            row.addWidget(button)
        form.addRow(label, row)

    def _browse_model(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Open a saved Keras model", "", MODELS)
        if path.endswith(".py"):
            path = self._ask_function(path)
        if path:
            self.model.setText(path)

    def _browse_custom(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Your file with the model's own classes", "", PYTHON)
        if path:
            self.custom.setText(path)

    def _browse_data(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Your file with a function that returns one batch", "", PYTHON)
        if path and (target := self._ask_function(path)):
            self.data.setText(target)


def _field(name: str, text: str, example: str) -> QLineEdit:
    field = QLineEdit(text)
    field.setAccessibleName(name)
    field.setPlaceholderText(example)
    return field
