"""The plan panel's fields: what a plan may use, and what the training script does beside the steps."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QFrame, QLineEdit, QScrollArea, QSpinBox, QWidget

from planner_app.core.model.setup import Precision
from planner_app.core.plan.cluster import parse_hosts
from planner_app.core.plan.pipeline import InputSettings
from planner_app.core.plan.plan import Allocator, MemorySettings
from planner_app.gui.panels.plan.values import LOWER, Terms

MOST_SAMPLES = 1_000_000_000
LEAST_WIDTH = 90  # pixels
NO_LOWER = "none"
MEMORY = {
    "all at the start": MemorySettings(),
    "as needed": MemorySettings(growth=True),
    "CUDA's own pool": MemorySettings(allocator=Allocator.CUDA_MALLOC_ASYNC),
}


class PlanFields(QScrollArea):
    """There is room for the first few; the others are scrolled to."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.lower_precision, self.memory, self.hosts = QComboBox(), QComboBox(), QLineEdit()
        self.lower_precision.addItems([NO_LOWER, *map(str, LOWER)])
        self.memory.addItems(list(MEMORY))
        self.hosts.setPlaceholderText("a:2222, b:2222")
        for combo in (self.lower_precision, self.memory):
            combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            combo.setMinimumContentsLength(8)
        self.every, self.sure = QCheckBox("For every device on the chart"), QCheckBox("Only what is sure to fit")
        self.prefetch, self.shuffle, self.cache = QSpinBox(), QSpinBox(), QSpinBox()
        self.prefetch.setRange(1, 10_000)
        self.prefetch.setValue(InputSettings().prefetch_batches)
        self.prefetch.setSuffix(" batches")
        for field in (self.shuffle, self.cache):
            field.setRange(0, MOST_SAMPLES)
            field.setSpecialValueText("none")
            field.setSuffix(" samples")
        self._lay_out()
        self._name()
        self._connect()

    def _lay_out(self) -> None:
        body = QWidget()
        form = QFormLayout(body)
        form.setContentsMargins(0, 0, 0, 0)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow("&Lower precision", self.lower_precision)
        form.addRow(self.every)
        form.addRow(self.sure)
        form.addRow("GPU &memory", self.memory)
        form.addRow("Hosts", self.hosts)
        form.addRow("&Read ahead", self.prefetch)
        form.addRow("Sh&uffle over", self.shuffle)
        form.addRow("Cache&d", self.cache)
        self.setWidget(body)

    def _name(self) -> None:
        about = {
            self.lower_precision: "If smaller parts of the batch do not fit either, a rung may use it.",
            self.every: "For a queue with several kinds of GPUs: the script uses the entry of the GPU it runs on.",
            self.sure: "A rung that is tight does not count.",
            self.memory: "How TensorFlow takes the GPU's memory",
            self.hosts: "Machines that train together, each with an equal share of the GPUs; or a TF_CONFIG",
            self.prefetch: "Batches to read ahead",
            self.shuffle: "Samples in the shuffle buffer",
            self.cache: "Samples kept in memory by cache()",
        }
        for field, tip in about.items():
            field.setToolTip(tip)
            field.setAccessibleName(tip)

    def _connect(self) -> None:
        for combo in (self.lower_precision, self.memory):
            combo.currentIndexChanged.connect(self.changed)
        for box in (self.every, self.sure):
            box.toggled.connect(self.changed)
        for spin in (self.prefetch, self.shuffle, self.cache):
            spin.setGroupSeparatorShown(True)
            spin.setMinimumWidth(LEAST_WIDTH)  # not that of the largest number
            spin.setKeyboardTracking(False)
            spin.valueChanged.connect(self.changed)
        self.hosts.editingFinished.connect(self.changed)

    def terms(self) -> Terms:
        """
        Raises:
            PlanError: The hosts are not addresses.
        """
        lower = self.lower_precision.currentText()
        return Terms(
            None if lower == NO_LOWER else Precision(lower),
            self.every.isChecked(),
            self.sure.isChecked(),
            MEMORY[self.memory.currentText()],
            InputSettings(self.prefetch.value(), self.shuffle.value(), self.cache.value()),
            parse_hosts(self.hosts.text()) if self.hosts.text().strip() else (),
        )
