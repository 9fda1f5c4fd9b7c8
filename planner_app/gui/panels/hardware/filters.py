"""The row above the table: how to pay, cost limits, and what to sort by."""

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QHBoxLayout, QSizePolicy, QSpinBox, QWidget

from planner_app.core.hardware.device import Segment
from planner_app.core.hardware.prices import Accepted, Pay
from planner_app.core.hardware.ranking import By
from planner_app.gui.panels.hardware.run_fields import RunFields
from planner_app.gui.panels.hardware.values import Gain, Limits

PAY = {"By the hour": Pay.CLOUD, "To buy": Pay.BUY}
SEGMENTS = {
    "Any use": None,
    "Data centre": Segment.DATACENTER,
    "Workstation": Segment.WORKSTATION,
    "Consumer": Segment.CONSUMER,
    "Laptop": Segment.LAPTOP,
    "Edge": Segment.EDGE,
}
BEST = {
    "Cheapest": By.PRICE,
    "Fastest": By.SPEED,
    "Cheapest per sample": By.VALUE,
    "Most headroom": By.HEADROOM,
    "Largest batch": By.BATCH,
    "Fewest watts": By.WATTS,
}
GAINS = {"Chart: speed": Gain.SPEED, "Chart: largest batch": Gain.BATCH}
MOST_STEPS = 1024


class Filters(QWidget):
    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.best = _combo(BEST, "What to sort by")
        self.pay = _combo(PAY, "Which price to use")
        self.budget, self.watts, self.steps = QDoubleSpinBox(), QSpinBox(), QSpinBox()
        self.budget.setRange(0, 10_000_000)
        self.budget.setPrefix("up to $")
        self.budget.setSpecialValueText("Any price")
        self.watts.setRange(0, 1_000_000)
        self.watts.setSingleStep(100)
        self.watts.setPrefix("up to ")
        self.watts.setSuffix(" W")
        self.watts.setSpecialValueText("Any watts")
        self.steps.setRange(1, MOST_STEPS)
        self.steps.setPrefix("up to ")
        self.steps.setSuffix(" steps")
        self.show_chosen_steps(1)
        self.segment = _combo(SEGMENTS, "What the GPUs are sold for")
        self.every = QCheckBox("Every count")
        self.gain = _combo(GAINS, "What the chart plots against the price")
        about = {
            self.budget: "The most that all GPUs together may cost, per hour or to buy; those without a price are out.",
            self.watts: "The most power that all cards together may draw.",
            self.steps: "Accumulation steps allowed if the batch does not fit at once.",
            self.every: "Show every GPU count; otherwise the best of each device, and those that nothing beats",
        }
        for widget, tip in about.items():
            widget.setToolTip(tip)
            widget.setAccessibleName(tip)
        row = QHBoxLayout(self)
        row.setContentsMargins(6, 0, 6, 0)
        row.setSpacing(4)
        for widget in (self.best, self.pay, self.budget, self.segment, self.watts, self.steps, self.every):
            row.addWidget(widget)
        row.addStretch(1)
        row.addWidget(self.gain)
        for combo in (self.best, self.pay, self.segment, self.gain):
            combo.currentIndexChanged.connect(self._on_changed)
        for spin in (self.budget, self.watts, self.steps):
            spin.setKeyboardTracking(False)
            spin.valueChanged.connect(self._on_changed)
        self.every.toggled.connect(self._on_changed)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.run = RunFields()
        self.run.changed.connect(self.changed)

    def limits(self) -> Limits:
        segment = self.segment.currentData()  # a plain string: that is all Qt keeps of an enumeration
        return Limits(
            pay=Pay(self.pay.currentData()),
            most_usd=self.budget.value() or None,
            most_watts=self.watts.value() or None,
            segment=None if segment is None else Segment(segment),
            by=By(self.best.currentData()),
            gain=Gain(self.gain.currentData()),
            most_accumulate=self.steps.value(),
            every_count=self.every.isChecked(),
            samples=self.run.samples.value(),
            epochs=self.run.epochs.value(),
            deadline_days=self.run.deadline.value() or None,
            runs=self.run.runs.value(),
            power_usd_per_kwh=self.run.power.value(),
            accepted=Accepted(self.run.used.isChecked(), self.run.launch.isChecked()),
        )

    def show_chosen_steps(self, steps: int) -> None:
        """The chosen setup's own accumulation is always allowed."""
        self.steps.setSpecialValueText("No accumulation" if steps == 1 else f"{steps} steps, as chosen")

    def _on_changed(self) -> None:
        cloud = self.limits().pay is Pay.CLOUD
        self.budget.setDecimals(2 if cloud else 0)
        self.budget.setSingleStep(0.5 if cloud else 500)
        self.changed.emit()


def _combo(entries: dict[str, Any], tip: str) -> QComboBox:
    combo = QComboBox()
    for text, data in entries.items():
        combo.addItem(text, data)
    combo.setToolTip(tip)
    combo.setAccessibleName(tip)
    return combo
