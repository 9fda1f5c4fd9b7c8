"""The lines, marks and labels of the capacity chart. Only what changed since the last picture is touched."""

from collections.abc import Callable

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen

from planner_app.core.model.setup import Precision
from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.chart.axis import BatchAxis
from planner_app.gui.panels.chart.items import Area, Label, LevelLine, Pool, Ring, Shade, add, remove
from planner_app.gui.panels.chart.marks import COMPILED, MEASURED
from planner_app.gui.panels.chart.values import Capacity, Mark, Picture, Series

Key = tuple[Precision, int]
STYLES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
    Qt.PenStyle.DashDotDotLine,
)
MANY = 4  # with this many lines or more, the others fade
FADED = 0.4
PIECES = 6  # of a line between two batches
LETTER_WIDTH, LABEL_GAP = 7, 8  # pixels: of a letter of a batch's label, and between two labels
SYMBOLS = {MEASURED: "d", COMPILED: "s"}


class Drawing:
    """Attributes:
    is_on: Whether the legend shows a line.
    """

    def __init__(self, plot: pg.PlotWidget, axis: BatchAxis, theme: Theme, is_on: Callable[[Series], bool]) -> None:
        self.plot, self.axis, self.theme, self.is_on = plot, axis, theme, is_on
        self.picture = Picture()
        self.curves: dict[Key, pg.PlotCurveItem] = {}
        self._looks: dict[Key, tuple[object, ...]] = {}
        self._band, self._over, self._chosen = Area(), Shade(), Ring(13)
        self._chosen_text = Label()
        self._band_look: tuple[object, ...] | None = None
        self._marks = pg.ScatterPlotItem()
        self._capacities = Pool(plot, LevelLine, 2)
        self._sold = Pool(plot, lambda: pg.InfiniteLine(angle=0), 2)
        self._dots = Pool(plot, lambda: Ring(8), 22)
        self._labels = Pool(plot, lambda: Label(anchor=(0.5, 1.15)), 15)
        for item, height in ((self._over, -2), (self._band, -1), (self._marks, 24), (self._chosen, 26)):
            add(plot, item, height)
        add(plot, self._chosen_text, 27)

    def show(self, picture: Picture) -> None:
        before, self.picture = self.picture, picture
        if picture.series != before.series:
            self.draw_series()
        if picture.capacities != before.capacities:
            self._draw_capacities()
        else:
            self._draw_shade()  # to the chart's current width
        if picture.marks != before.marks:
            self._draw_marks()
        self._draw_chosen()

    def draw_all(self) -> None:
        """The colours or the axis have changed."""
        self._looks.clear()
        self._band_look = None
        self.draw_series()
        self._draw_capacities()
        self._draw_marks()
        self._draw_chosen()

    def draw_moved(self) -> None:
        """The visible range has changed."""
        self._draw_dots()
        self._draw_chosen()
        self._draw_shade()

    def draw_series(self) -> None:
        for key in self.curves.keys() - {series.key for series in self.picture.series}:
            remove(self.plot, self.curves.pop(key))
            self._looks.pop(key, None)
        for series in self.picture.series:
            self._draw_line(series)
        self._draw_band(next((each for each in self.picture.series if each.chosen and self.is_on(each)), None))
        self._draw_dots()

    def _draw_band(self, chosen: Series | None) -> None:
        self._band.setVisible(chosen is not None)
        look = None if chosen is None else (chosen.curve, chosen.share, chosen.precisions[0])
        if chosen is not None and look != self._band_look:
            self._band_look = look
            xs, low = self._path(chosen, chosen.curve.low_gib)
            self._band.between(xs.tolist(), low.tolist(), self._path(chosen, chosen.curve.high_gib)[1].tolist())
            self._band.setBrush(_see_through(self.theme.precision(chosen.precisions[0]), 0.16))

    def style(self, gpus: int) -> Qt.PenStyle:
        counts = sorted({series.gpus for series in self.picture.series})
        return STYLES[counts.index(gpus) % len(STYLES)] if gpus in counts else STYLES[0]

    def _draw_line(self, series: Series) -> None:
        faded = len(self.picture.series) > MANY and not series.chosen
        style = self.style(series.gpus)
        look = (series.curve, series.share, series.chosen, self.is_on(series), faded, style)
        if self._looks.get(series.key) == look:
            return
        self._looks[series.key] = look
        curve = self.curves.get(series.key)
        if curve is None:
            curve = self.curves[series.key] = pg.PlotCurveItem(antialias=True)
            add(self.plot, curve, 5)
        curve.setData(*self._path(series, series.curve.peak_gib))
        colour = _see_through(self.theme.precision(series.precisions[0]), FADED if faded else 1.0)
        curve.setPen(QPen(pg.mkPen(colour, width=3.0 if series.chosen else 1.8, style=style)))
        curve.setZValue(10 if series.chosen else 5)
        curve.setVisible(self.is_on(series))

    def _path(self, series: Series, heights: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Straight between replayed batches, which the logarithmic axis bends: drawn in small pieces."""
        known = np.array(series.curve.batches, dtype=float)
        batches = np.interp(np.arange(0, len(known) - 1 + 1e-9, 1 / PIECES), np.arange(len(known)), known)
        xs = batches * series.share
        return (np.log2(xs) if self.axis.log else xs), np.interp(batches, known, np.array(heights))

    def _draw_dots(self) -> None:
        """The largest batch that fits, on each line, where it crosses the chosen device's capacity."""
        shown = [series for series in self.picture.series if series.largest and self.is_on(series)]
        shown.sort(key=lambda series: not series.chosen)
        pixels = self._pixels_per_place()
        taken: list[tuple[float, int]] = []
        self._dots.begin()
        self._labels.begin()
        for series in shown:
            largest = series.largest or 1
            place, height = self.axis.place(largest), series.curve.at(largest // series.share)[0]
            colour = self.theme.precision(series.precisions[0])
            dot = self._dots.take()
            dot.setPos(place, height)
            dot.paint_as(colour, self.theme.surface, 1.0)
            width = len(series.largest_text) * LETTER_WIDTH
            if all(abs(place - other) * pixels > (width + beside) / 2 + LABEL_GAP for other, beside in taken):
                taken.append((place, width))
                label = self._labels.take()
                label.say(series.largest_text, colour)
                label.setPos(place, height)
        self._dots.end()
        self._labels.end()

    def _pixels_per_place(self) -> float:
        low, high = self.plot.getViewBox().viewRange()[0]
        return float(self.plot.getViewBox().width() / max(high - low, 1e-9))

    def _draw_capacities(self) -> None:
        self._capacities.begin()
        self._sold.begin()
        for capacity in self.picture.capacities:
            self._draw_capacity(capacity)
        self._capacities.end()
        self._sold.end()
        self._draw_shade()

    def _draw_capacity(self, capacity: Capacity) -> None:
        colour = self.theme.bad if capacity.chosen else self.theme.muted
        line = self._capacities.take()
        line.setValue(capacity.limit_gib)
        text, width = f"{capacity.name}: {capacity.limit_gib:.1f} GiB", 2.0 if capacity.chosen else 1.2
        line.name_as(text, colour, width)
        line.setToolTip(plain_tip(capacity.why))
        if capacity.sold_gib is not None:
            sold = self._sold.take()
            sold.setValue(capacity.sold_gib)
            sold.setPen(pg.mkPen(_see_through(colour, 0.4), style=Qt.PenStyle.DotLine))
            sold.setToolTip(plain_tip(capacity.why))

    def _draw_shade(self) -> None:
        chosen = next((capacity for capacity in self.picture.capacities if capacity.chosen), None)
        self._over.setVisible(chosen is not None)
        if chosen is not None:
            self._over.setBrush(_see_through(self.theme.bad, 0.08))
            self._over.above(chosen.limit_gib, self.plot)

    def _draw_chosen(self) -> None:
        chosen = self.picture.chosen
        self._chosen.setVisible(chosen is not None)
        self._chosen_text.setVisible(chosen is not None)
        if chosen is None:
            return
        colour = self.theme.text if chosen.verdict is None else self.theme.verdict(chosen.verdict)
        place = self.axis.place(chosen.batch)
        self._chosen.setPos(place, chosen.gib)
        self._chosen.paint_as(self.theme.surface, colour, 2.5)
        size = f"{chosen.gib:.1f} GiB" if chosen.gib >= 1 else f"{chosen.gib * 1024:.0f} MiB"
        self._chosen_text.say(f"batch {chosen.batch:,}: {size}", colour)
        self._chosen_text.setPos(place, chosen.gib)
        low, high = self.plot.getViewBox().viewRange()[0]
        at_the_left_edge = (place - low) / max(high - low, 1e-9) < 0.2
        # Place it left of the point, where the line is below it, except at the chart's edge.
        self._chosen_text.setAnchor((-0.08, 1.3) if at_the_left_edge else (1.08, 1.0))

    def _draw_marks(self) -> None:
        self._marks.setData(
            [
                {
                    "pos": (self.axis.place(mark.batch), mark.gib),
                    "symbol": "x" if mark.failed else SYMBOLS[mark.source],
                    "size": 13,
                    "brush": _see_through(self._mark_colour(mark), 0.35 if mark.elsewhere else 1.0),
                    "pen": self.theme.surface,
                    "data": mark.text,
                }
                for mark in self.picture.marks
            ],
            hoverable=True,
            tip=_tip,
        )

    def _mark_colour(self, mark: Mark) -> str:
        if mark.failed:
            return self.theme.bad
        return self.theme.good if mark.source == MEASURED else self.theme.accent


def _tip(x: float, y: float, data: str) -> str:  # noqa: ARG001 what pyqtgraph gives
    return data


def _see_through(colour: str, share: float) -> QColor:
    made = QColor(colour)
    made.setAlphaF(share)
    return made
