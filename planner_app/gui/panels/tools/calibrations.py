"""The dialog of calibrations: what measurements have changed, and how to move it to another machine."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QListWidget, QListWidgetItem, QPushButton, QVBoxLayout, QWidget

from planner_app.core.measure.calibration import Calibration, sentence
from planner_app.foreign_text import for_line
from planner_app.gui.look.plain_label import PlainLabel

SIZE = (680, 380)
NONE = "There are no calibrations yet. Measure a model in the Validate panel, or run a self-test."


class CalibrationsView(QDialog):
    forget_clicked = Signal(str)  # the device
    export_clicked = Signal()
    import_clicked = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Calibrations")
        self.resize(*SIZE)
        self.list, self.said = QListWidget(), PlainLabel(wordWrap=True)
        self.list.setAccessibleName("Calibrations")
        self.list.setWordWrap(True)
        self.forget, self.export = QPushButton("For&get this device"), QPushButton("E&xport …")
        self.take_in, self.close_button = QPushButton("&Import …"), QPushButton("C&lose")
        row, column = QHBoxLayout(), QVBoxLayout(self)
        for button in (self.forget, self.export, self.take_in):
            button.setAutoDefault(False)
            row.addWidget(button)
        row.addStretch(1)
        row.addWidget(self.close_button)
        column.addWidget(self.said)
        column.addWidget(self.list, 1)
        column.addLayout(row)
        self.forget.clicked.connect(lambda: self.forget_clicked.emit(self._device()))
        self.export.clicked.connect(self.export_clicked)
        self.take_in.clicked.connect(self.import_clicked)
        self.close_button.clicked.connect(self.close)
        self.list.currentRowChanged.connect(lambda row: self.forget.setEnabled(row >= 0))
        self._found: tuple[Calibration, ...] = ()

    def show_calibrations(self, found: tuple[Calibration, ...], said: str = "") -> None:
        self._found = found
        self.list.clear()
        for each in found:
            self.list.addItem(QListWidgetItem(f"{for_line(each.title)}\n{for_line(sentence(each))}"))
        self.list.setCurrentRow(0)
        self.said.setText(said or ("" if found else NONE))
        self.said.setVisible(bool(self.said.text()))
        for button in (self.forget, self.export):
            button.setEnabled(bool(found))

    def _device(self) -> str:
        row = self.list.currentRow()
        return self._found[row].device if row >= 0 else ""
