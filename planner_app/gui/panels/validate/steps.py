"""The plot of a measurement: the peak of each step as it comes in, against the estimate and its band."""

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, Qt

from planner_app.gui.look.plot.areas import Area, paint_frame, show_axes
from planner_app.gui.look.plot.pens import faint, pen
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.chart.axis import BatchAxis

MIB, GIB = 1 << 20, 1 << 30
ROOM = 0.12  # of what is shown, above and below it
ENDS = np.array((0.5, 1e6))  # the band is as wide as any run


class StepsPlot(pg.PlotWidget):  # type: ignore[misc]  # pyqtgraph has no types
    def __init__(self, theme: Theme) -> None:
        axis = BatchAxis()
        axis.log = False  # whole numbers only
        super().__init__(axisItems={"bottom": axis})
        self._theme = theme
        self._peaks: list[int] = []
        self._expected: tuple[int, int, int] | None = None
        self.setMenuEnabled(False)
        self.hideButtons()
        self.setMouseEnabled(x=False, y=False)
        self.setLabel("bottom", "step")
        self.getAxis("left").enableAutoSIPrefix(False)
        self.setAccessibleName("Peak of each step as it is measured, against the estimate")
        self._band, self._line = Area(), pg.InfiniteLine(angle=0)
        self._measured = pg.PlotDataItem([], [], symbol="d", symbolSize=12)
        self._words = pg.TextItem(anchor=(0, 1))
        for item in (self._band, self._line, self._words):
            self.getViewBox().addItem(item, ignoreBounds=True)
        self.addItem(self._measured)
        self.set_theme(theme)

    def clear_steps(self) -> None:
        self._peaks, self._expected = [], None
        self._draw()

    def add_step(self, peak_bytes: int) -> None:
        self._peaks.append(peak_bytes)
        self._draw()

    def show_expected(self, low_bytes: int, peak_bytes: int, high_bytes: int) -> None:
        self._expected = (low_bytes, peak_bytes, high_bytes)
        self._draw()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        paint_frame(self, theme)
        self._band.setBrush(faint(theme.accent, 0.16))
        self._line.setPen(pen(theme.accent, 1.6, Qt.PenStyle.DashLine, on=self))
        self._measured.setPen(pen(theme.text, 1.6, on=self))
        self._measured.setSymbolBrush(theme.text)
        self._measured.setSymbolPen(theme.surface)
        self._draw()

    def _draw(self) -> None:
        expected = self._expected
        show_axes(self, bool(self._peaks) or expected is not None)
        for item in (self._band, self._line, self._words):
            item.setVisible(expected is not None)
        values = [*self._peaks, *(expected or ())]
        if not values:
            return
        unit = GIB if max(values) >= GIB else MIB
        self.setLabel("left", "GiB in use" if unit == GIB else "MiB in use")
        self._measured.setData(list(range(1, len(self._peaks) + 1)), [size / unit for size in self._peaks])
        low, high = min(values) / unit, max(values) / unit
        room = max((high - low) * ROOM, high * 0.01)
        self.setYRange(max(low - room, 0), high + room, padding=0)
        self.setXRange(0.5, max(len(self._peaks), 4) + 0.5, padding=0)
        if expected is not None:
            bottom, middle, top = (size / unit for size in expected)
            self._band.between(ENDS, np.full(2, bottom), np.full(2, top))
            self._line.setValue(middle)
            self._words.setText("estimate and its band", self._theme.accent)
            self._words.setPos(0.5, middle)

    def event(self, event: QEvent) -> bool:
        """A screen of another scale needs other pens."""
        if event.type() is QEvent.Type.DevicePixelRatioChange:
            self.set_theme(self._theme)
        return bool(super().event(event))
