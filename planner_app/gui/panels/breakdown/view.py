"""Draws what memory consists of: areas over the batch, and the list of terms at the chosen one."""

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.plot.areas import Areas, paint_frame, plain_plot, show_axes
from planner_app.gui.look.plot.pens import faint, pen
from planner_app.gui.look.plot.pieces import in_pieces
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.breakdown.table import TermList
from planner_app.gui.panels.breakdown.values import GIB, BreakdownValues
from planner_app.gui.panels.chart.axis import BatchAxis
from planner_app.gui.panels.chart.drawn.items import Ring
from planner_app.units import format_bytes

RING_SHARE = 0.03  # of the width: half the ring at the chosen batch
ABOVE = 1.18  # of the highest value, to leave room for labels
HINT = "Select a term to see where it comes from."


class BreakdownView(QWidget):
    pin_clicked = Signal()
    shown = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._values = theme, BreakdownValues()
        self.axis = BatchAxis()
        self.plot = plain_plot("Memory by term over the global batch")
        self.plot.setAxisItems({"bottom": self.axis})
        self.plot.setLabel("left", "GiB")
        self.plot.setLabel("bottom", "global batch")
        self.plot.setMinimumHeight(100)
        self.plot.setMouseEnabled(x=False, y=False)
        self._areas = Areas(self.plot, smooth=True)
        self._capacity = pg.InfiniteLine(angle=0, label="", labelOpts={"position": 0.02, "anchors": [(0, -0.1)] * 2})
        self._marker = pg.InfiniteLine(angle=90)
        self._dot = Ring(10)
        self._capacity.setZValue(self._marker.zValue() + 1)
        for item in (self._capacity, self._marker, self._dot):
            self.plot.addItem(item, ignoreBounds=True)
        self.title, self.versus, self.meaning = PlainLabel(), PlainLabel(), PlainLabel(HINT)
        self.pin = QToolButton()
        self.pin.clicked.connect(self.pin_clicked)
        self.log = QToolButton()
        self.log.setText("log₂")
        self.log.setToolTip("Batch axis in powers of two, or linear")
        self.log.setAccessibleName(self.log.toolTip())
        self.log.setCheckable(True)
        self.log.setAutoRaise(True)
        self.log.setChecked(True)
        self.log.toggled.connect(self._on_log_toggled)
        self.list = TermList(theme)
        self.list.selectionModel().currentChanged.connect(self._say_meaning)
        self._lay_out()
        self.set_theme(theme)

    def _lay_out(self) -> None:
        for label in (self.title, self.versus, self.meaning):
            label.setWordWrap(True)
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        self.meaning.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.meaning.setMinimumHeight(self.fontMetrics().lineSpacing() * 3 + 2)
        self.meaning.setAccessibleName("Where the chosen term comes from")
        top = QHBoxLayout()
        top.addWidget(self.title, 1)
        top.addWidget(self.pin, 0, Qt.AlignmentFlag.AlignTop)
        corner = QGridLayout(self.plot)
        corner.setContentsMargins(2, 2, 4, 2)
        corner.addWidget(self.log, 0, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom)
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 6, 6, 4)
        column.setSpacing(4)
        column.addLayout(top)
        column.addWidget(self.versus)
        column.addWidget(self.plot, 1)
        column.addWidget(self.list)
        column.addWidget(self.meaning)

    # Showing

    def hide_controls(self) -> None:
        """For paper."""
        for widget in (self.pin, self.log, self.meaning):
            widget.hide()

    def show_values(self, values: BreakdownValues) -> None:
        before, self._values = self._values, values
        if values == before and self.pin.text():
            return
        self.title.setText(values.note or values.title)
        self.versus.setText(f"against {values.pinned}" if values.pinned else "")
        self.versus.setVisible(bool(values.pinned))
        self._show_pin()
        self.list.show_rows(values.rows, compared=bool(values.pinned))
        self._say_meaning()
        if values.areas != before.areas:
            self._draw_areas()
        self._draw_capacity()
        self._draw_marker()

    def _show_pin(self) -> None:
        pinned = bool(self._values.pinned)
        self.pin.setText("Unpin" if pinned else "Pin")
        tip = "Remove the pinned setup" if pinned else "Pin this setup to compare others with it, term by term"
        self.pin.setToolTip(tip)
        self.pin.setAccessibleName(tip)
        self.pin.setEnabled(pinned or bool(self._values.rows))

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        paint_frame(self.plot, theme)
        self.list.terms.set_theme(theme)
        self._capacity.setPen(pen(theme.bad, 1.6, on=self.plot))
        self._capacity.label.setColor(theme.bad)
        self._capacity.label.fill = pg.mkBrush(faint(theme.surface, 0.8))  # the marker may run behind it
        self._marker.setPen(pen(theme.text, 1.2, Qt.PenStyle.DashLine, on=self.plot))
        self._draw_areas()
        self._draw_marker()

    def _draw_areas(self) -> None:
        show_axes(self.plot, bool(self._values.areas.batches))
        self._areas.draw(*self._paths())

    def _draw_capacity(self) -> None:
        capacity = self._values.capacity_bytes
        self._capacity.setVisible(capacity is not None and bool(self._values.areas.batches))
        if capacity is not None:
            self._capacity.setPos(capacity / GIB)
            self._capacity.label.setFormat(f"{self._values.capacity}: {capacity / GIB:.1f} GiB")

    def _paths(self) -> tuple[np.ndarray, list[tuple[str, np.ndarray]]]:
        areas = self._values.areas
        if not areas.batches:
            return np.empty(0), []
        batches = in_pieces(areas.batches)
        heights = (np.interp(batches, areas.batches, np.array(sizes) / GIB) for _, sizes in areas.terms)
        colours = (self._theme.term(term) for term, _ in areas.terms)
        return np.log2(batches) if self.axis.log else batches, list(zip(colours, heights, strict=True))

    def _draw_marker(self) -> None:
        values, peak = self._values, self._values.peak_bytes
        there = peak is not None and bool(values.areas.batches)
        self._marker.setVisible(there)
        self._dot.setVisible(there)
        if peak is None or not there:
            return
        place, colour = self.axis.place(values.batch), self._theme.verdict(values.verdict)
        self._marker.setPos(place)
        self._dot.setPos(place, peak / GIB)
        self._dot.paint_as(self._theme.surface, colour, 2)
        self._dot.setToolTip(f"batch {values.batch:,}: {format_bytes(peak)}")
        self._reset()

    def _reset(self) -> None:
        """As wide as the areas and the ring; high enough for the capacity and the chosen setup."""
        values = self._values
        left, right, chosen = map(self.axis.place, (values.areas.batches[0], values.areas.batches[-1], values.batch))
        ring = RING_SHARE * (right - left)
        xs = min(left, chosen - ring), max(right, chosen + ring)
        limit = values.capacity_bytes or values.areas.tops[-1]
        top = max(limit * ABOVE, (values.peak_bytes or 0) * ABOVE) / GIB
        self.plot.setRange(xRange=xs, yRange=(0, top), padding=0.0)

    def _say_meaning(self) -> None:
        row = self.list.row()
        self.meaning.setText(f"{row.name}: {row.meaning}" if row else HINT if self._values.rows else "")

    def _on_log_toggled(self, on: bool) -> None:
        self.axis.log = on
        self._draw_areas()
        self._draw_marker()

    def event(self, event: QEvent) -> bool:
        """A screen of another scale needs other pens."""
        if event.type() is QEvent.Type.DevicePixelRatioChange:
            self.set_theme(self._theme)
        return super().event(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()
