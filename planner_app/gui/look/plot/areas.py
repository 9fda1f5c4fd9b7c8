"""Areas of one colour, for bands and for charts of terms."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QGraphicsPolygonItem, QStyleOptionGraphicsItem, QWidget

from planner_app.gui.look.plot.pens import pen
from planner_app.gui.look.theme import Theme

Heights = npt.NDArray[np.float64]
BEHIND = -20  # behind everything else on the plot, but above the plot's own -100, which pyqtgraph requires


class Area(QGraphicsPolygonItem):
    """One polygon: pyqtgraph fills curves in pieces, and between smooth pieces hairlines remain."""

    def __init__(self, *, smooth: bool = True) -> None:
        super().__init__()
        self._smooth = smooth
        self.setPen(Qt.PenStyle.NoPen)

    def between(self, xs: Heights, low: Heights, high: Heights) -> None:
        """Two lines over the same x values."""
        there, back = np.concatenate((xs, xs[::-1])), np.concatenate((low, high[::-1]))
        self.setPolygon(pg.functions.arrayToQPolygonF(there, back))

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, self._smooth)
        super().paint(painter, option, widget)


class Areas:
    """Each area reaches down to zero and is covered by those below it, so that there are no gaps between them."""

    def __init__(self, plot: pg.PlotWidget, *, smooth: bool) -> None:
        self._plot, self._smooth = plot, smooth
        self._items: list[Area] = []

    def draw(self, xs: Heights, layers: Sequence[tuple[str, Heights]]) -> None:
        """Colours and heights, the lowest first."""
        while len(self._items) < len(layers):
            item = Area(smooth=self._smooth)
            item.setZValue(BEHIND - len(self._items))
            self._plot.getViewBox().addItem(item, ignoreBounds=True)
            self._items.append(item)
        tops: Sequence[Heights] = list(np.cumsum([heights for _, heights in layers], axis=0)) if layers else []
        for item, (colour, _), top in zip(self._items, layers, tops, strict=False):
            item.between(xs, np.zeros_like(top), top)
            item.setBrush(pg.mkColor(colour))
        for number, item in enumerate(self._items):
            item.setVisible(number < len(layers))


def plain_plot(name: str) -> pg.PlotWidget:
    """A plot without pyqtgraph's own menus and buttons."""
    plot = pg.PlotWidget(enableMenu=False)
    plot.setAccessibleName(name)
    plot.hideButtons()
    plot.getAxis("left").enableAutoSIPrefix(False)
    plot.getAxis("bottom").enableAutoSIPrefix(False)
    return plot


def paint_frame(plot: pg.PlotWidget, theme: Theme) -> None:
    plot.setBackground(theme.surface)
    for side in ("bottom", "left"):
        axis = plot.getAxis(side)
        axis.setPen(pen(theme.grid, 1.0, on=plot))
        axis.setTextPen(theme.muted)
        axis.label.setDefaultTextColor(pg.mkColor(theme.muted))


def show_axes(plot: pg.PlotWidget, on: bool) -> None:
    """An axis without anything on it would show numbers that mean nothing."""
    plot.getPlotItem().setVisible(on)
