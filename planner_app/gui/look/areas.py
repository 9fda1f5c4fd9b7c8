"""Stacked areas, one colour each, for charts of terms."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg

from planner_app.gui.look.theme import Theme

Heights = npt.NDArray[np.float64]
BEHIND = -20  # behind everything else on the plot, but above the plot's own -100, which pyqtgraph requires


class Areas:
    """Each curve is filled down to zero and covered by those below it, so that there are no gaps between them."""

    def __init__(self, plot: pg.PlotWidget, *, smooth: bool) -> None:
        self._plot, self._smooth = plot, smooth
        self._items: list[pg.PlotCurveItem] = []

    def draw(self, xs: Heights, layers: Sequence[tuple[str, Heights]]) -> None:
        """Colours and heights, the lowest first."""
        while len(self._items) < len(layers):
            item = pg.PlotCurveItem(pen=None, antialias=self._smooth)
            item.setZValue(BEHIND - len(self._items))
            self._plot.addItem(item, ignoreBounds=True)
            self._items.append(item)
        tops: Sequence[Heights] = list(np.cumsum([heights for _, heights in layers], axis=0)) if layers else []
        for item, (colour, _), top in zip(self._items, layers, tops, strict=False):
            item.setData(xs, top, fillLevel=0.0, brush=colour)
        for number, item in enumerate(self._items):
            item.setVisible(number < len(layers))


def plain_plot(name: str) -> pg.PlotWidget:
    """A plot without pyqtgraph's own menus and buttons."""
    plot = pg.PlotWidget()
    plot.setAccessibleName(name)
    plot.setMenuEnabled(False)
    plot.hideButtons()
    plot.getAxis("left").enableAutoSIPrefix(False)
    plot.getAxis("bottom").enableAutoSIPrefix(False)
    return plot


def paint_frame(plot: pg.PlotWidget, theme: Theme) -> None:
    plot.setBackground(theme.surface)
    for side in ("bottom", "left"):
        axis = plot.getAxis(side)
        axis.setPen(theme.grid)
        axis.setTextPen(theme.muted)
        axis.label.setDefaultTextColor(pg.mkColor(theme.muted))
