"""Fields of the setup panel, each with a name for screen readers."""

from typing import TypeVar

from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QSizePolicy, QSpinBox, QWidget

from planner_app.gui.look.plain_label import PlainLabel

Field = TypeVar("Field", bound=QWidget)


def spin(name: str, low: int, high: int) -> QSpinBox:
    field = QSpinBox()
    field.setRange(low, high)
    field.setGroupSeparatorShown(True)
    field.setKeyboardTracking(False)
    return named(field, name)


def combo(name: str, items: list[str], *, editable: bool = False) -> QComboBox:
    field = QComboBox()
    field.addItems(items)
    field.setEditable(editable)
    field.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
    field.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return named(field, name)


def edit(name: str, placeholder: str) -> QLineEdit:
    field = QLineEdit()
    field.setPlaceholderText(placeholder)
    return named(field, name)


def line_of(field: QComboBox) -> QLineEdit:
    """The line edit of an editable combo box."""
    line = field.lineEdit()
    assert line is not None
    return line


def note(text: str = "") -> QLabel:
    label = PlainLabel(text)
    label.setWordWrap(True)
    label.setEnabled(False)  # the muted colour of the palette
    return label


def named(field: Field, name: str) -> Field:
    field.setAccessibleName(name)
    field.setToolTip(name)
    return field
