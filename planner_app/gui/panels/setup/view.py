"""The fields of the setup panel."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QCompleter,
    QFormLayout,
    QFrame,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from planner_app.core.estimate.curve import anchors
from planner_app.core.model.choices import LOSSES, OPTIMIZERS, REMAT_MODES, REMAT_WITH_ARGUMENT
from planner_app.core.model.setup import OWN, QUANTIZATIONS, Backend, Jit, Precision
from planner_app.gui.look.layouts import clear
from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.panels.setup.backend import BackendFields
from planner_app.gui.panels.setup.fields import combo, edit, line_of, note, spin
from planner_app.gui.panels.setup.values import SPARSE, SetupValues

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
    lora_changed = Signal(str)
    quantize_changed = Signal(str)
    own_clicked = Signal()  # restore what the model was compiled with
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
        self.backend = BackendFields()
        for label, field in self.backend.rows:
            self._form.addRow(label, field)
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
        self.batch = spin("Global batch: samples per update, over all GPUs and steps", 1, 1 << 24)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("Global batch")
        self.slider.setRange(0, len(SLIDER) - 1)
        self.each = note()
        self.batch.valueChanged.connect(self.batch_changed)
        self.batch.editingFinished.connect(self.settled)
        self.slider.valueChanged.connect(lambda place: self.batch_changed.emit(SLIDER[place]))
        self.slider.sliderReleased.connect(self.settled)
        self._row("&Batch", self.batch)
        self._form.addRow(self.slider)
        self._form.addRow(self.each)

    def _add_training(self) -> None:
        self.precision = combo("Precision: the Keras dtype policy", [str(each) for each in Precision])
        self.gpus = spin("Identical GPUs, each with a copy of the model", 1, 4096)
        self.accumulate = spin("Steps over which gradients are accumulated before an update", 1, 1 << 16)
        self.optimizer = combo(
            "Optimizer, with options as in sgd:momentum=0.9", [str(OWN), *OPTIMIZERS, *WITH_OPTIONS], editable=True
        )
        self.loss = combo("Keras loss", ["", *LOSSES], editable=True)
        self.precision.activated.connect(lambda: self.precision_changed.emit(Precision(self.precision.currentText())))
        self.gpus.valueChanged.connect(self.gpus_changed)
        self.accumulate.valueChanged.connect(self.accumulate_changed)
        for field, tell in ((self.optimizer, self._tell_optimizer), (self.loss, self._tell_loss)):
            field.activated.connect(tell)
            line_of(field).editingFinished.connect(tell)
        self._row("&Precision", self.precision)
        self._row("&GPUs", self.gpus)
        self._row("&Accumulate", self.accumulate)
        self._row("&Optimizer", self.optimizer)
        self.assumed = PlainLabel(wordWrap=True)
        self.sparse = QPushButton("&Use a sparse loss")
        self.sparse.setToolTip("Targets are then one number a sample instead of one a class")
        self.sparse.clicked.connect(lambda: self.loss_changed.emit(SPARSE))
        self.own = QPushButton("&Restore the model's own")
        self.own.setToolTip("The optimizer, loss and XLA setting that the model was compiled with")
        self.own.clicked.connect(self.own_clicked)
        self._row("Lo&ss", self.loss)
        for widget in (self.assumed, self.sparse, self.own):
            self._form.addRow(widget)

    def _add_memory(self) -> None:
        self.jit = combo("XLA: whether the step is compiled", list(JIT_NAMES.values()))
        self.jit_note = note()
        self.freeze = edit("Layers to freeze, by name or pattern", "block1_*, stem")
        self.remat = combo("What to recompute in the backward pass instead of keeping it", [])
        for mode, text in REMAT_NAMES.items():
            self.remat.addItem(text, mode)
        self.remat_argument = edit("Elements, or layers joined by +", "")
        self.jit.activated.connect(lambda place: self.jit_changed.emit(list(JIT_NAMES)[place]))
        self.freeze.editingFinished.connect(self._tell_freeze)
        self.remat.activated.connect(self._on_remat_activated)
        self.remat_argument.editingFinished.connect(lambda: self._tell_remat(self.remat_argument.text()))
        self._row("&XLA", self.jit)
        self._form.addRow(self.jit_note)
        self.lora = edit("Low-rank adapters: their rank, and which layers get them", "8, or 8:*query*")
        self.quantize = combo("Weights in fewer bits", ["none", *QUANTIZATIONS])
        self.lora.editingFinished.connect(self._tell_lora)
        self.quantize.activated.connect(lambda place: self.quantize_changed.emit(("", *QUANTIZATIONS)[place]))
        self._row("Fro&zen", self.freeze)
        self._row("Re&mat", self.remat)
        self._form.addRow(self.remat_argument)
        self._row("&LoRA", self.lora)
        self._row("&Quantize", self.quantize)

    def _add_lines(self) -> None:
        self.lines: dict[Precision, QCheckBox] = {}
        grid = QGridLayout()
        grid.setVerticalSpacing(2)
        for number, precision in enumerate(Precision):
            box = self.lines[precision] = QCheckBox(str(precision))
            box.setAccessibleName(f"Draw the lines of {precision}")
            box.clicked.connect(self._on_lines_clicked)
            grid.addWidget(box, number // 2, number % 2)
        self.counts = edit("GPU counts on the chart", "1, 2, 4")
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
        blockers = [QSignalBlocker(field) for field in (*fields, self.loss, self.remat, self.quantize)]
        self.batch.setValue(values.batch)
        if SLIDER[self.slider.value()] != values.batch:
            self.slider.setValue(sum(anchor < values.batch for anchor in SLIDER))
        self.each.setText(values.each)
        self.backend.show_values(values.backend)
        self.precision.setCurrentText(str(values.precision))
        self.gpus.setValue(values.gpus)
        self.accumulate.setValue(values.accumulate)
        self.optimizer.setCurrentText(values.optimizer)
        self.jit.setCurrentText(JIT_NAMES[values.jit])
        self.jit.setEnabled(values.backend.backend is Backend.TENSORFLOW)
        self.jit_note.setText(values.jit_note)
        self.freeze.setText(values.freeze)
        self.remat.setCurrentIndex(self.remat.findData(values.remat_mode))  # -1, no selection, for an unknown mode
        self.remat_argument.setText(values.remat_argument)
        self.remat_argument.setVisible(bool(values.remat_argument) or self._remat_mode() in REMAT_WITH_ARGUMENT)
        self.loss.setCurrentText(values.loss)
        line_of(self.loss).setPlaceholderText(values.saved_loss or "mean_squared_error")
        self.assumed.setText(values.assumed)
        self.assumed.setVisible(bool(values.assumed))
        self.sparse.setVisible(values.offers_sparse)
        self.own.setVisible(values.differs_from_own)
        self.lora.setText(values.lora)
        self.quantize.setCurrentText(values.quantize or "none")
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
                label = note(f"Input {each.name}: {each.shape}")
                field = edit(f"Size of input {each.name} without the batch", "as in the file")
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

    def _tell_lora(self) -> None:
        if self.lora.text() != self._values.lora:
            self.lora_changed.emit(self.lora.text().strip())

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
