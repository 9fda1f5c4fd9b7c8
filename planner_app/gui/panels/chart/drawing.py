"""The lines, marks and labels of the capacity chart. Only what changed since the last picture is touched."""

from collections.abc import Callable

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt

from planner_app.core.model.setup import Precision
from planner_app.gui.look.plot.areas import Area
from planner_app.gui.look.plot.pens import faint, on_paper, pen
from planner_app.gui.look.plot.pieces import in_pieces
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.chart.axis import BatchAxis
from planner_app.gui.panels.chart.drawn.crossings import Crossings
from planner_app.gui.panels.chart.drawn.items import add, remove
from planner_app.gui.panels.chart.drawn.labels import Box, Room, Strokes
from planner_app.gui.panels.chart.drawn.levels import Levels
from planner_app.gui.panels.chart.drawn.marker import Marker
from planner_app.gui.panels.chart.drawn.marks import COMPILED, MEASURED
from planner_app.gui.panels.chart.others import Other, OtherLines
from planner_app.gui.panels.chart.values import Mark, Picture, Series

Key = tuple[Precision, int]
STYLES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
    Qt.PenStyle.DashDotDotLine,
)
MANY = 4  # with this many lines or more, the others fade
FADED, BEHIND = 0.45, 0.18  # opacity of a line beside the chosen one, and beside one that is pointed at
SYMBOLS = {MEASURED: "d", COMPILED: "s"}
NOTHING: frozenset[object] = frozenset()


class Drawing:
    """Attributes:
    is_on: Whether the legend shows a line.
    room: The labels' places in the last picture.
    """

    def __init__(self, plot: pg.PlotWidget, axis: BatchAxis, theme: Theme, is_on: Callable[[Series], bool]) -> None:
        self.plot, self.axis, self.theme, self.is_on = plot, axis, theme, is_on
        self.picture = Picture()
        self.curves: dict[Key, pg.PlotCurveItem] = {}
        self.room = Room(Box(0, 0, 0, 0))
        self._pointed_at: frozenset[object] = NOTHING
        self._looks: dict[Key, tuple[object, ...]] = {}
        self._band = Area()
        self._band_look: tuple[object, ...] | None = None
        self._marks = pg.ScatterPlotItem(useCache=not on_paper())
        self.levels, self.crossings, self.marker = Levels(plot), Crossings(plot), Marker(plot)
        self.others = OtherLines(plot)
        add(plot, self._band, -1)
        add(plot, self._marks, 26)

    def show(self, picture: Picture) -> None:
        before, self.picture = self.picture, picture
        if picture.series != before.series:
            self._draw_lines()
        if picture.capacities != before.capacities:
            self.levels.draw_lines(picture.capacities, self.theme)
        if picture.others != before.others:
            self.others.draw_lines(picture.others, self.theme, self._path)
        if picture.marks != before.marks:
            self._draw_marks()
        self.draw_moved()

    def draw_all(self) -> None:
        """The colours, the axis or the screen have changed."""
        self._looks.clear()
        self._band_look = None
        self._draw_lines()
        self.levels.draw_lines(self.picture.capacities, self.theme)
        self.others.draw_lines(self.picture.others, self.theme, self._path)
        self._draw_marks()
        self.draw_moved()

    def draw_moved(self) -> None:
        """Everything that depends on the visible range."""
        box = self.plot.getViewBox()
        self.room = Room(Box(0, 0, box.width(), box.height()))
        self.room.strokes = self._strokes()
        self.levels.draw_shade(self.picture.capacities, self.theme)
        chosen = self.picture.chosen
        where = (0.0, 0.0, 0.0, 0.0) if chosen is None else self._at(chosen.batch, chosen.gib)
        self.marker.draw(chosen, self.theme, self.room, where)
        self.levels.draw_labels(self.picture.capacities, self.theme, self.room)
        self.room.points += [self._box(mark) for mark in self.picture.marks]
        shown = (series for series in self.picture.series if series.largest and self.is_on(series))
        self.crossings.draw(shown, self.theme, self.room, self._at, self._pointed_at)
        last = int(self.axis.batch(box.viewRange()[0][1]))
        self.others.draw_names(self.picture.others, self.theme, self.room, self._at, last)

    def draw_series(self) -> None:
        """The legend has switched lines on or off."""
        self._draw_lines()
        self.draw_moved()

    def point_at(self, keys: frozenset[object]) -> None:
        """Bring lines to the fore and tell where they cross the capacity."""
        if keys != self._pointed_at:
            self._pointed_at = keys
            self.draw_series()

    def style(self, gpus: int) -> Qt.PenStyle:
        counts = sorted({series.gpus for series in self.picture.series})
        return STYLES[counts.index(gpus) % len(STYLES)] if gpus in counts else STYLES[0]

    def _draw_lines(self) -> None:
        for key in self.curves.keys() - {series.key for series in self.picture.series}:
            remove(self.plot, self.curves.pop(key))
            self._looks.pop(key, None)
        for series in self.picture.series:
            self._draw_line(series)
        self._draw_band(next((each for each in self.picture.series if each.chosen and self.is_on(each)), None))

    def _draw_band(self, chosen: Series | None) -> None:
        self._band.setVisible(chosen is not None)
        look = None if chosen is None else (chosen.curve, chosen.share, chosen.precisions[0])
        if chosen is not None and look != self._band_look:
            self._band_look = look
            xs, low = self._path(chosen, chosen.curve.low_gib)
            self._band.between(xs, low, self._path(chosen, chosen.curve.high_gib)[1])
            self._band.setBrush(faint(self.theme.precision(chosen.precisions[0]), 0.16))

    def _draw_line(self, series: Series) -> None:
        style = self.style(series.gpus)
        opacity = self._opacity(series)
        look = (series.curve, series.share, series.chosen, self.is_on(series), opacity, style)
        if self._looks.get(series.key) == look:
            return
        before = self._looks.get(series.key, (None, None))
        self._looks[series.key] = look
        curve = self.curves.get(series.key)
        if curve is None:
            curve = self.curves[series.key] = pg.PlotCurveItem(antialias=True)
            add(self.plot, curve, 5)
        if before[:2] != look[:2]:
            curve.setData(*self._path(series, series.curve.peak_gib))
        pointed_at = series.key in self._pointed_at
        width = 3.0 if series.chosen else 2.4 if pointed_at else 1.6
        colour = faint(self.theme.precision(series.precisions[0]), opacity)
        curve.setPen(pen(colour, width, style, on=self.plot))
        curve.setZValue(11 if pointed_at else 10 if series.chosen else 5)
        curve.setVisible(self.is_on(series))

    def _opacity(self, series: Series) -> float:
        if series.chosen or series.key in self._pointed_at:
            return 1.0
        if self._pointed_at:
            return BEHIND
        return FADED if len(self.picture.series) > MANY else 1.0

    def _path(self, series: Series | Other, heights: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
        batches = in_pieces(series.curve.batches)
        xs = batches * series.share
        return (np.log2(xs) if self.axis.log else xs), np.interp(batches, series.curve.batches, heights)

    def _at(self, batch: int, gib: float) -> tuple[float, float, float, float]:
        """A point on the view, and in pixels from the plot's upper left corner."""
        (left, right), (bottom, top) = self.plot.getViewBox().viewRange()
        place, area = self.axis.place(batch), self.room.area
        across = (place - left) / max(right - left, 1e-9) * area.width
        return place, gib, across, (top - gib) / max(top - bottom, 1e-9) * area.height

    def _strokes(self) -> Strokes:
        """The lines that are shown, in pixels."""
        (left, right), (bottom, top) = self.plot.getViewBox().viewRange()
        across = self.room.area.width / max(right - left, 1e-9)
        down = self.room.area.height / max(top - bottom, 1e-9)
        shown = [self.curves[each.key] for each in self.picture.series if self.is_on(each) and each.key in self.curves]
        paths = [curve.getData() for curve in (*shown, *self.others.curves.shown)]
        lines = [((xs - left) * across, (top - ys) * down) for xs, ys in paths if xs is not None]
        return Strokes.of(lines, self.room.area.width)

    def _box(self, mark: Mark) -> Box:
        _, _, right, down = self._at(mark.batch, mark.gib)
        size = _size(mark)
        return Box(right - size / 2, down - size / 2, size, size)

    def _draw_marks(self) -> None:
        """Filled on the chart's own device, hollow elsewhere."""
        self._marks.setData(
            [
                {
                    "pos": (self.axis.place(mark.batch), mark.gib),
                    "symbol": "x" if mark.failed else SYMBOLS[mark.source],
                    "size": _size(mark),
                    "brush": self.theme.surface if mark.elsewhere else self._mark_colour(mark),
                    "pen": pen(self._mark_colour(mark) if mark.elsewhere else self.theme.surface, 1.6, on=self.plot),
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
        return self.theme.text if mark.source == MEASURED else self.theme.accent


def _size(mark: Mark) -> int:
    return 20 if mark.failed else 15 if mark.source == MEASURED else 10


def _tip(x: float, y: float, data: str) -> str:  # noqa: ARG001 what pyqtgraph gives
    return data
