"""The fields of the setup panel."""

from typing import TypeVar

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QCompleter,
    QFormLayout,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from planner_app.core.estimate.curve import anchors
from planner_app.core.model.choices import LOSSES, OPTIMIZERS, REMAT_MODES, REMAT_WITH_ARGUMENT
from planner_app.core.model.setup import OWN, Jit, Precision
from planner_app.gui.look.layouts import clear
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.panels.setup.values import SetupValues

Field = TypeVar("Field", bound=QWidget)
WITH_OPTIONS = ("sgd:momentum=0.9",)  # an example of how to write options
SLIDER = anchors(1 << 17)
REMAT_NAMES = {"": "none", **{mode: mode.replace("_", " ") for mode in REMAT_MODES}} | {
    "larger_than": "larger than …",
    "list_of_layers": "these layers …",
}
JIT_NAMES = {Jit.AUTO: "auto", Jit.ON: "on", Jit.OFF: "off"}


class SetupView(QScrollArea):
    """Each field signals its change as typed. `settled` ends a change made in many small steps."""

    batch_changed = Signal(int)
    precision_changed = Signal(Precision)
    gpus_changed = Signal(int)
    accumulate_changed = Signal(int)
    optimizer_changed = Signal(str)
    loss_changed = Signal(str)
    jit_changed = Signal(Jit)
    freeze_changed = Signal(str)
    remat_changed = Signal(str, str)  # mode, argument
    size_changed = Signal(str, str)  # input, sizes
    precisions_changed = Signal(tuple)
    gpu_counts_changed = Signal(str)
    settled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._values, self._drawn = SetupValues(), False
        self.trouble = PlainLabel()
        self.trouble.setWordWrap(True)
        self.trouble.hide()
        body = QWidget()
        self._form = QFormLayout(body)
        self._form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        self._form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.DontWrapRows)
        self._form.setVerticalSpacing(7)
        self._add_batch()
        self._add_training()
        self._add_memory()
        self._inputs = QVBoxLayout()
        self._input_fields: dict[str, QLineEdit] = {}
        self._form.addRow(self._inputs)
        self._add_lines()
        self._form.addRow(self.trouble)
        self.setWidget(body)

    # The fields

    def _add_batch(self) -> None:
        self.batch = _spin("Global batch: samples per update, over all GPUs and steps", 1, 1 << 24)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("Global batch")
        self.slider.setRange(0, len(SLIDER) - 1)
        self.each = _note()
        self.batch.valueChanged.connect(self.batch_changed)
        self.batch.editingFinished.connect(self.settled)
        self.slider.valueChanged.connect(lambda place: self.batch_changed.emit(SLIDER[place]))
        self.slider.sliderReleased.connect(self.settled)
        self._row("&Batch", self.batch)
        self._form.addRow(self.slider)
        self._form.addRow(self.each)

    def _add_training(self) -> None:
        self.precision = _combo("Precision: the Keras dtype policy", [str(each) for each in Precision])
        self.gpus = _spin("Identical GPUs, each with a copy of the model", 1, 4096)
        self.accumulate = _spin("Steps over which gradients are accumulated before an update", 1, 1 << 16)
        self.optimizer = _combo(
            "Optimizer, with options as in sgd:momentum=0.9", [str(OWN), *OPTIMIZERS, *WITH_OPTIONS], editable=True
        )
        self.loss = _combo("Keras loss", ["", *LOSSES], editable=True)
        self.precision.activated.connect(lambda: self.precision_changed.emit(Precision(self.precision.currentText())))
        self.gpus.valueChanged.connect(self.gpus_changed)
        self.accumulate.valueChanged.connect(self.accumulate_changed)
        for field, tell in ((self.optimizer, self._tell_optimizer), (self.loss, self._tell_loss)):
            field.activated.connect(tell)
            _line_of(field).editingFinished.connect(tell)
        self._row("&Precision", self.precision)
        self._row("&GPUs", self.gpus)
        self._row("&Accumulate", self.accumulate)
        self._row("&Optimizer", self.optimizer)
        self._row("Lo&ss", self.loss)

    def _add_memory(self) -> None:
        self.jit = _combo("XLA: whether the step is compiled", list(JIT_NAMES.values()))
        self.jit_note = _note()
        self.freeze = _edit("Layers to freeze, by name or pattern", "block1_*, stem")
        self.remat = _combo("What to recompute in the backward pass instead of keeping it", [])
        for mode, text in REMAT_NAMES.items():
            self.remat.addItem(text, mode)
        self.remat_argument = _edit("Elements, or layers joined by +", "")
        self.jit.activated.connect(lambda place: self.jit_changed.emit(list(JIT_NAMES)[place]))
        self.freeze.editingFinished.connect(self._tell_freeze)
        self.remat.activated.connect(self._on_remat_activated)
        self.remat_argument.editingFinished.connect(lambda: self._tell_remat(self.remat_argument.text()))
        self._row("&XLA", self.jit)
        self._form.addRow(self.jit_note)
        self._row("&Frozen", self.freeze)
        self._row("Re&mat", self.remat)
        self._form.addRow(self.remat_argument)

    def _add_lines(self) -> None:
        self.lines: dict[Precision, QCheckBox] = {}
        grid = QGridLayout()
        grid.setVerticalSpacing(2)
        for number, precision in enumerate(Precision):
            box = self.lines[precision] = QCheckBox(str(precision))
            box.setAccessibleName(f"Draw the lines of {precision}")
            box.clicked.connect(self._on_lines_clicked)
            grid.addWidget(box, number // 2, number % 2)
        self.counts = _edit("GPU counts on the chart", "1, 2, 4")
        self.counts.editingFinished.connect(self._tell_counts)
        heading = QLabel("Lines on the chart")
        heading.setContentsMargins(0, 8, 0, 0)
        self._form.addRow(heading)
        self._form.addRow(grid)
        self._row("GPU &counts", self.counts)

    def _row(self, label: str, field: QWidget) -> None:
        name = QLabel(label)
        name.setBuddy(field)
        self._form.addRow(name, field)

    # Showing

    def show_values(self, values: SetupValues) -> None:
        before, self._values = self._values, values
        if values == before and self._drawn:
            return
        fields = (self.batch, self.slider, self.precision, self.gpus, self.accumulate, self.optimizer, self.jit)
        blockers = [QSignalBlocker(field) for field in (*fields, self.loss, self.remat)]
        self.batch.setValue(values.batch)
        if SLIDER[self.slider.value()] != values.batch:
            self.slider.setValue(sum(anchor < values.batch for anchor in SLIDER))
        self.each.setText(values.each)
        self.precision.setCurrentText(str(values.precision))
        self.gpus.setValue(values.gpus)
        self.accumulate.setValue(values.accumulate)
        self.optimizer.setCurrentText(values.optimizer)
        self.jit.setCurrentText(JIT_NAMES[values.jit])
        self.jit_note.setText(values.jit_note)
        self.freeze.setText(values.freeze)
        self.remat.setCurrentIndex(self.remat.findData(values.remat_mode))  # -1, no selection, for an unknown mode
        self.remat_argument.setText(values.remat_argument)
        self.remat_argument.setVisible(bool(values.remat_argument) or self._remat_mode() in REMAT_WITH_ARGUMENT)
        self.loss.setCurrentText(values.loss)
        _line_of(self.loss).setPlaceholderText(values.saved_loss or "mean_squared_error")
        for precision, box in self.lines.items():
            box.setChecked(precision in values.precisions)
            box.setEnabled(precision is not values.precision)
        self.counts.setText(values.counts_text)
        if values.layers != before.layers or not self._drawn:
            self.freeze.setCompleter(QCompleter(list(values.layers), self.freeze))
        if values.inputs != before.inputs:
            self._show_inputs(values)
        self._drawn = True
        del blockers

    def show_trouble(self, sentence: str) -> None:
        self.trouble.setText(sentence)
        self.trouble.setVisible(bool(sentence))

    def _show_inputs(self, values: SetupValues) -> None:
        if [each.name for each in values.inputs] != list(self._input_fields):
            clear(self._inputs)
            self._input_fields.clear()
            for each in values.inputs:
                label = _note(f"Input {each.name}: {each.shape}")
                field = _edit(f"Size of input {each.name} without the batch", "as in the file")
                field.editingFinished.connect(lambda name=each.name: self._tell_size(name))
                self._inputs.addWidget(label)
                self._inputs.addWidget(field)
                self._input_fields[each.name] = field
        for each in values.inputs:
            field = self._input_fields[each.name]
            field.setText(each.text)
            field.setPlaceholderText("enter the unknown size" if each.open else "as in the file")

    # User input. Leaving a field is not a change; only a different text is.

    def _tell_optimizer(self) -> None:
        if self.optimizer.currentText() != self._values.optimizer:
            self.optimizer_changed.emit(self.optimizer.currentText())

    def _tell_loss(self) -> None:
        if self.loss.currentText() != self._values.loss:
            self.loss_changed.emit(self.loss.currentText())

    def _tell_freeze(self) -> None:
        if self.freeze.text() != self._values.freeze:
            self.freeze_changed.emit(self.freeze.text())

    def _tell_remat(self, argument: str) -> None:
        mode = self._remat_mode()
        if (mode, argument) != (self._values.remat_mode, self._values.remat_argument):
            self.remat_changed.emit(mode, argument)

    def _tell_size(self, name: str) -> None:
        text = self._input_fields[name].text()
        if text != next((each.text for each in self._values.inputs if each.name == name), ""):
            self.size_changed.emit(name, text)

    def _tell_counts(self) -> None:
        if self.counts.text() != self._values.counts_text:
            self.gpu_counts_changed.emit(self.counts.text())

    def _remat_mode(self) -> str:
        chosen = self.remat.currentData()
        return self._values.remat_mode if chosen is None else str(chosen)

    def _on_remat_activated(self) -> None:
        needs = self._remat_mode() in REMAT_WITH_ARGUMENT
        self.remat_argument.setVisible(needs)
        self.remat_argument.setPlaceholderText(
            "elements, as in 100000" if self._remat_mode() == "larger_than" else "layers, as in conv1+conv2"
        )
        if needs:
            self.remat_argument.setFocus()
        else:
            self._tell_remat("")

    def _on_lines_clicked(self) -> None:
        self.precisions_changed.emit(tuple(p for p, box in self.lines.items() if box.isChecked()))


def _spin(name: str, low: int, high: int) -> QSpinBox:
    field = QSpinBox()
    field.setRange(low, high)
    field.setGroupSeparatorShown(True)
    field.setKeyboardTracking(False)
    return _named(field, name)


def _combo(name: str, items: list[str], *, editable: bool = False) -> QComboBox:
    field = QComboBox()
    field.addItems(items)
    field.setEditable(editable)
    field.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
    field.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return _named(field, name)


def _edit(name: str, placeholder: str) -> QLineEdit:
    field = QLineEdit()
    field.setPlaceholderText(placeholder)
    return _named(field, name)


def _line_of(field: QComboBox) -> QLineEdit:
    """The line edit of an editable combo box."""
    line = field.lineEdit()
    assert line is not None
    return line


def _note(text: str = "") -> QLabel:
    label = PlainLabel(text)
    label.setWordWrap(True)
    label.setEnabled(False)  # the muted colour of the palette
    return label


def _named(field: Field, name: str) -> Field:
    field.setAccessibleName(name)
    field.setToolTip(name)
    return field
