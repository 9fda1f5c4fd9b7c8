"""Asks which function of a Python file to use."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from planner_app.files.python_functions import FoundFunction
from planner_app.foreign_text import for_line
from planner_app.gui.look.plain_label import PlainLabel

RUNS = "Opening it runs {name} with your permissions, but without network access: only open code that you trust."
NAME = Qt.ItemDataRole.UserRole


class FunctionDialog(QDialog):
    """Attributes:
    list: The functions, the first one chosen.
    """

    def __init__(self, parent: QWidget, file: str, functions: tuple[FoundFunction, ...], question: str) -> None:
        super().__init__(parent)
        self.setWindowTitle(for_line(file))
        self.list = QListWidget()
        self.list.setAccessibleName(question)
        for each in functions:
            shown = f"{each.name}()" + (f"\n    {each.summary}" if each.summary else "")
            item = QListWidgetItem(for_line(shown) if not each.summary else shown)
            item.setData(NAME, each.name)
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self.list.itemActivated.connect(self.accept)
        asked, runs = PlainLabel(question), PlainLabel(RUNS.format(name=file), wordWrap=True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.take = buttons.addButton("&Run and open", QDialogButtonBox.ButtonRole.AcceptRole)
        self.take.setEnabled(bool(functions))
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        for widget in (asked, self.list, runs, buttons):
            column.addWidget(widget)
        self.resize(460, 300)

    @property
    def chosen(self) -> str:
        item = self.list.currentItem()
        return str(item.data(NAME)) if item is not None else ""
