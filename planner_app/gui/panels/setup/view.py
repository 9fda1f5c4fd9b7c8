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
from planner_app.core.model.setup import Jit, Precision
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.panels.setup.values import REMAT_MODES, SetupValues

Field = TypeVar("Field", bound=QWidget)
OPTIMIZERS = (
    "adam adamw sgd sgd:momentum=0.9 rmsprop adagrad adadelta adafactor adamax nadam lamb lion ftrl muon "
    "loss_scale_optimizer"
).split()
LOSSES = (
    "mean_squared_error mean_absolute_error huber binary_crossentropy categorical_crossentropy "
    "sparse_categorical_crossentropy"
).split()
SLIDER = anchors(1 << 17)
REMAT_NAMES = {
    "": "none",
    "activations": "activations",
    "larger_than": "larger than …",
    "list_of_layers": "these layers …",
}
JIT_NAMES = {Jit.AUTO: "auto", Jit.ON: "on", Jit.OFF: "off"}


class SetupView(QScrollArea):
    """Each change is told by the name of its field. `settled` ends a change that came in many small ones."""

    changed = Signal(str, object)
    settled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._values: SetupValues | None = None
        self._shown: dict[object, object] = {}
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
        self.batch.valueChanged.connect(lambda value: self.changed.emit("batch", value))
        self.batch.editingFinished.connect(self.settled)
        self.slider.valueChanged.connect(lambda place: self.changed.emit("batch", SLIDER[place]))
        self.slider.sliderReleased.connect(self.settled)
        self._row("&Batch", self.batch)
        self._form.addRow(self.slider)
        self._form.addRow(self.each)

    def _add_training(self) -> None:
        self.precision = _combo("Precision: the Keras dtype policy", [str(each) for each in Precision])
        self.gpus = _spin("Identical GPUs, each with a copy of the model", 1, 4096)
        self.accumulate = _spin("Steps whose gradients are added up before an update", 1, 1 << 16)
        self.optimizer = _combo("Optimizer, with options as in sgd:momentum=0.9", OPTIMIZERS, editable=True)
        self.loss = _combo("Keras loss", ["", *LOSSES], editable=True)
        self.precision.activated.connect(
            lambda: self.changed.emit("precision", Precision(self.precision.currentText()))
        )
        self.gpus.valueChanged.connect(lambda value: self.changed.emit("gpus", value))
        self.accumulate.valueChanged.connect(lambda value: self.changed.emit("accumulate", value))
        for field, name in ((self.optimizer, "optimizer"), (self.loss, "loss")):
            field.activated.connect(lambda _, field=field, name=name: self._told(name, field.currentText()))
            edit = field.lineEdit()
            edit.editingFinished.connect(lambda field=field, name=name: self._told(name, field.currentText()))
        self._row("&Precision", self.precision)
        self._row("&GPUs", self.gpus)
        self._row("&Accumulate", self.accumulate)
        self._row("&Optimizer", self.optimizer)
        self._row("Lo&ss", self.loss)

    def _add_memory(self) -> None:
        self.jit = _combo("XLA: whether the step is compiled", list(JIT_NAMES.values()))
        self.jit_note = _note()
        self.freeze = _edit("Layers not to train, by name or pattern", "block1_*, stem")
        self.remat = _combo("What is worked out again in the backward pass instead of kept", list(REMAT_NAMES.values()))
        self.remat_argument = _edit("Elements, or layers joined by +", "")
        self.jit.activated.connect(lambda place: self.changed.emit("jit", list(JIT_NAMES)[place]))
        self.freeze.editingFinished.connect(lambda: self._told("freeze", self.freeze.text()))
        self.remat.activated.connect(self._on_remat_activated)
        self.remat_argument.editingFinished.connect(
            lambda: self._told("remat", (self._remat_mode(), self.remat_argument.text()))
        )
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
        self.counts.editingFinished.connect(lambda: self._told("gpu_counts", self.counts.text()))
        heading = QLabel("Lines on the chart")
        heading.setContentsMargins(0, 8, 0, 0)
        self._form.addRow(heading)
        self._form.addRow(grid)
        self._row("GPU &counts", self.counts)

    def _row(self, label: str, field: QWidget) -> None:
        name = QLabel(label)
        name.setBuddy(field)
        self._form.addRow(name, field)

    # What is shown

    def show_values(self, values: SetupValues) -> None:
        before, self._values = self._values, values
        if values == before:
            return
        self._shown = {
            "optimizer": values.optimizer,
            "loss": values.loss,
            "freeze": values.freeze,
            "gpu_counts": ", ".join(map(str, values.gpu_counts)),
            "remat": (values.remat_mode, values.remat_argument),
            **{("sizes", each.name): each.text for each in values.inputs},
        }
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
        self.remat.setCurrentIndex(REMAT_MODES.index(values.remat_mode))
        self.remat_argument.setText(values.remat_argument)
        self.remat_argument.setVisible(bool(values.remat_argument) or self._remat_mode() in REMAT_MODES[2:])
        self.loss.setCurrentText(values.loss)
        self.loss.lineEdit().setPlaceholderText(values.saved_loss or "mean_squared_error")
        for precision, box in self.lines.items():
            box.setChecked(precision in values.precisions)
            box.setEnabled(precision is not values.precision)
        self.counts.setText(", ".join(map(str, values.gpu_counts)))
        if before is None or values.layers != before.layers:
            self.freeze.setCompleter(QCompleter(list(values.layers), self.freeze))
        if before is None or values.inputs != before.inputs:
            self._show_inputs(values)
        del blockers

    def show_trouble(self, sentence: str) -> None:
        self.trouble.setText(sentence)
        self.trouble.setVisible(bool(sentence))

    def _show_inputs(self, values: SetupValues) -> None:
        if [each.name for each in values.inputs] != list(self._input_fields):
            while self._inputs.count():
                if widget := self._inputs.takeAt(0).widget():
                    widget.deleteLater()
            self._input_fields.clear()
            for each in values.inputs:
                label = _note(f"Input {each.name}: {each.shape}")
                field = _edit(f"Sizes of input {each.name} without the batch", "as in the file")
                field.editingFinished.connect(
                    lambda name=each.name, field=field: self._told("sizes", (name, field.text()))
                )
                self._inputs.addWidget(label)
                self._inputs.addWidget(field)
                self._input_fields[each.name] = field
        for each in values.inputs:
            field = self._input_fields[each.name]
            field.setText(each.text)
            field.setPlaceholderText("fill in: a size is unknown" if each.open else "as in the file")

    # What the user does

    def _told(self, name: str, value: object) -> None:
        """Leaving a field is no change: only another text is."""
        key = (name, value[0]) if name == "sizes" and isinstance(value, tuple) else name
        if self._shown.get(key) != (value[1] if key != name and isinstance(value, tuple) else value):
            self.changed.emit(name, value)

    def _remat_mode(self) -> str:
        return REMAT_MODES[max(self.remat.currentIndex(), 0)]

    def _on_remat_activated(self) -> None:
        needs = self._remat_mode() in REMAT_MODES[2:]
        self.remat_argument.setVisible(needs)
        self.remat_argument.setPlaceholderText(
            "elements, as in 100000" if self._remat_mode() == "larger_than" else "layers, as in conv1+conv2"
        )
        if needs:
            self.remat_argument.setFocus()
        else:
            self._told("remat", (self._remat_mode(), ""))

    def _on_lines_clicked(self) -> None:
        self.changed.emit("precisions", tuple(p for p, box in self.lines.items() if box.isChecked()))


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


def _note(text: str = "") -> QLabel:
    label = PlainLabel(text)
    label.setWordWrap(True)
    label.setEnabled(False)  # the muted colour of the palette
    return label


def _named(field: Field, name: str) -> Field:
    field.setAccessibleName(name)
    field.setToolTip(name)
    return field
