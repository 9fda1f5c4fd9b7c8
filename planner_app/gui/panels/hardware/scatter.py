"""Price against speed or batch on logarithmic axes, with the Pareto front as a line."""

import math
from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QVBoxLayout, QWidget

from planner_app.core.hardware.prices import Pay
from planner_app.gui.look.plot.areas import show_axes
from planner_app.gui.look.plot.pens import on_paper
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.hardware.values import Dot, Hardware, Key

ACROSS = {Pay.CLOUD: "dollars per hour", Pay.BUY: "dollars to buy"}
LABEL = (138, 16)  # size of a label in pixels
TICKS = ((1,), (1, 2, 5), range(1, 10), [1 + step / 10 for step in range(90)])  # of a decade, from few to many
SPACE = (26, 56)  # size of a tick label in pixels, vertical and horizontal


class LogAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """View coordinates are powers of ten."""

    def __init__(self, side: str, prefix: str = "") -> None:
        super().__init__(side)
        self._prefix = prefix
        self.enableAutoSIPrefix(False)

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """As many as fit."""
        room = max(2, int(size / (SPACE[0] if self.orientation in ("left", "right") else SPACE[1])))
        decades = range(math.floor(low), math.ceil(high) + 1)
        best: list[float] = []
        for steps in TICKS:
            values = [decade + math.log10(step) for decade in decades for step in steps]
            inside = [value for value in values if low <= value <= high]
            if len(inside) <= room:
                best = inside
        return [(1.0, best)]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return [f"{self._prefix}{_short(10**value)}" for value in values]


def _short(number: float) -> str:
    """0.2, 5,000, 20k, 1.5M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= max(size, 9e3) * 0.999:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}" if number < 999 else f"{number:,.0f}"


class ScatterView(QWidget):
    picked = Signal(tuple)  # the key of an offer

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shown = Hardware()
        self._selected: Key | None = None
        self._labels: list[pg.TextItem] = []
        axes = {"bottom": LogAxis("bottom", "$"), "left": LogAxis("left")}
        self.plot = pg.PlotWidget(axisItems=axes, enableMenu=False)
        self.plot.setAccessibleName("Price of offers against speed or largest batch")
        self.plot.hideButtons()
        self.plot.showGrid(x=True, y=True, alpha=0.18)
        self.plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the keyboard uses the table next to it
        self._line = pg.PlotCurveItem(antialias=True)
        self._dots, self._best = (
            pg.ScatterPlotItem(hoverable=True, tip=self._tip, useCache=not on_paper()) for _ in range(2)
        )
        self._ring = pg.ScatterPlotItem()
        for height, item in enumerate((self._dots, self._line, self._best, self._ring)):
            item.setZValue(height)
            self.plot.addItem(item, ignoreBounds=True)
        for dots in (self._dots, self._best):
            dots.sigClicked.connect(self._on_clicked)
        self.plot.getViewBox().sigResized.connect(self._on_resized)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.plot)
        self._paint_frame()

    def show_values(self, values: Hardware, selected: Key | None) -> None:
        if values is not self._shown:
            self._shown = values
            self._draw()
        self.select(selected)

    def select(self, key: Key | None) -> None:
        self._selected = key
        ring = pg.mkPen(self._theme.text, width=2)
        spots = [
            {"pos": _place(dot), "size": 15, "pen": ring, "brush": None} for dot in self._shown.dots if dot.key == key
        ]
        self._ring.setData(spots)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._paint_frame()
        self._draw()
        self.select(self._selected)

    def _paint_frame(self) -> None:
        self.plot.setBackground(self._theme.surface)
        for side in ("bottom", "left"):
            axis = self.plot.getAxis(side)
            axis.setPen(self._theme.grid)
            axis.setTextPen(self._theme.muted)
            axis.label.setDefaultTextColor(QColor(self._theme.muted))

    def _draw(self) -> None:
        values, theme = self._shown, self._theme
        show_axes(self.plot, bool(values.dots))
        self.plot.setLabel("bottom", ACROSS[values.limits.pay])
        self.plot.setLabel("left", str(values.limits.gain))
        faint = QColor(theme.muted)
        faint.setAlphaF(0.45)
        best = sorted((dot for dot in values.dots if dot.best), key=lambda dot: dot.usd)
        others = [dot for dot in values.dots if not dot.best]
        # One brush for all: a thousand separate brushes take longer than a frame.
        far, near = _places(others), _places(best)
        self._dots.setData(x=far[:, 0], y=far[:, 1], data=others, size=6, brush=faint, pen=None)
        self._best.setData(x=near[:, 0], y=near[:, 1], data=best, size=9, brush=theme.accent, pen=theme.surface)
        self._line.setData(near[:, 0], near[:, 1])
        self._line.setPen(pg.mkPen(theme.accent, width=1.5))
        self._fit(values.dots)
        self._draw_labels(best)

    def _fit(self, dots: Sequence[Dot]) -> None:
        """Show all dots, with room for names on the left and above, where there are no dots."""
        if dots:
            xs, ys = zip(*map(_place, dots), strict=True)
            box = self.plot.getViewBox()
            wide, high = max(max(xs) - min(xs), 0.2), max(max(ys) - min(ys), 0.2)
            left, above = LABEL[0] / max(box.width(), 300), 1.5 * LABEL[1] / max(box.height(), 80)
            box.setRange(
                xRange=(min(xs) - wide * left / max(1 - left, 0.3), max(xs) + 0.05 * wide),
                yRange=(min(ys) - 0.1 * high, max(ys) + high * above / max(1 - above, 0.3)),
                padding=0,
            )

    def _draw_labels(self, best: Sequence[Dot]) -> None:
        """Name the offers on the line as far as there is room, starting with the ends."""
        for label in self._labels:
            self.plot.removeItem(label)
        self._labels = []
        wide, high = self.plot.getViewBox().viewPixelSize()
        taken: list[tuple[float, float]] = []
        for dot in sorted(best, key=lambda dot: dot not in (best[0], best[-1])):
            x, y = _place(dot)
            here = (x / (wide or 1), y / (high or 1))
            if all(abs(here[0] - a) > LABEL[0] or abs(here[1] - b) > LABEL[1] for a, b in taken):
                taken.append(here)
                label = pg.TextItem(dot.text, color=self._theme.text, anchor=(1.0, 0.9))
                label.setPos(x, y)
                self.plot.addItem(label, ignoreBounds=True)
                self._labels.append(label)

    def _tip(self, x: float, y: float, data: Dot) -> str:
        paid = f"${data.usd:,.2f}{' per hour' if self._shown.limits.pay is Pay.CLOUD else ''}"
        return f"{data.text}\n{paid}, {data.gain:,.0f} {self._shown.limits.gain}"

    def _on_clicked(self, _item: object, spots: Sequence[pg.SpotItem]) -> None:
        if len(spots):
            self.picked.emit(spots[-1].data().key)

    def _on_resized(self) -> None:
        self._fit(self._shown.dots)
        self._draw_labels(sorted((dot for dot in self._shown.dots if dot.best), key=lambda dot: dot.usd))


def _place(dot: Dot) -> tuple[float, float]:
    return math.log10(dot.usd), math.log10(dot.gain)


def _places(dots: Sequence[Dot]) -> np.ndarray:
    return np.array([_place(dot) for dot in dots]).reshape(-1, 2)
