"""The second row above the table: the whole training, and which prices count."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QHBoxLayout, QSizePolicy, QSpinBox, QWidget

MOST_SAMPLES = 2_000_000_000


class RunFields(QWidget):
    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.samples, self.epochs, self.runs = QSpinBox(), QSpinBox(), QSpinBox()
        self.deadline, self.power = QDoubleSpinBox(), QDoubleSpinBox()
        self.used, self.launch = QCheckBox("Used cards"), QCheckBox("Launch prices")
        self.samples.setRange(0, MOST_SAMPLES)
        self.samples.setGroupSeparatorShown(True)
        self.samples.setSingleStep(1000)
        self.samples.setSuffix(" samples")
        self.samples.setSpecialValueText("One step only")
        self.epochs.setRange(1, 1_000_000)
        self.epochs.setSuffix(" epochs")
        self.epochs.setSpecialValueText("1 epoch")
        self.deadline.setRange(0, 10_000)
        self.deadline.setPrefix("in ")
        self.deadline.setSuffix(" days")
        self.deadline.setSpecialValueText("No deadline")
        self.runs.setRange(1, 1_000_000)
        self.runs.setSuffix(" runs")
        self.runs.setSpecialValueText("1 run")
        self.power.setRange(0, 10)
        self.power.setSingleStep(0.05)
        self.power.setPrefix("$")
        self.power.setSuffix(" a kWh")
        self.power.setSpecialValueText("Energy not counted")
        about = {
            self.samples: "Samples in the training set: what the whole training takes, rented or bought.",
            self.epochs: "How often the training set is gone through in one run.",
            self.deadline: "The most days that one run may take.",
            self.runs: "How many runs are paid for: buying pays after some.",
            self.power: "The price of electricity, for hardware that is bought.",
            self.used: "Count prices of used cards too.",
            self.launch: "Count list prices at launch where no other price is known.",
        }
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 0, 6, 0)
        row.setSpacing(4)
        for widget, tip in about.items():
            widget.setToolTip(tip)
            widget.setAccessibleName(tip)
            row.addWidget(widget)
        row.addStretch(1)
        for spin in (self.samples, self.epochs, self.runs, self.deadline, self.power):
            spin.setKeyboardTracking(False)
            spin.valueChanged.connect(self.changed)
        for box in (self.used, self.launch):
            box.toggled.connect(self.changed)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
