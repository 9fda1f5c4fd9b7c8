"""Chart items that are moved instead of recreated when something changes, so that redrawing takes less than a frame."""

from collections.abc import Callable
from typing import Generic, TypeVar

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import (
    QGraphicsEllipseItem,
    QGraphicsItem,
    QGraphicsLineItem,
    QGraphicsRectItem,
)

Item = TypeVar("Item", bound=QGraphicsItem)


def add(plot: pg.PlotWidget, item: QGraphicsItem, height: float) -> None:
    """Add to the plot without affecting its range. Higher items lie above lower ones."""
    plot.getViewBox().addItem(item, ignoreBounds=True)
    item.setZValue(height)


def remove(plot: pg.PlotWidget, item: QGraphicsItem) -> None:
    """Remove what `add` put there, which the plot itself does not track."""
    plot.getViewBox().removeItem(item)


class Ring(QGraphicsEllipseItem):
    """A circle of fixed size in pixels."""

    def __init__(self, size: float) -> None:
        super().__init__(QRectF(-size / 2, -size / 2, size, size))
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemIgnoresTransformations)

    def paint_as(self, fill: str, edge: str, width: float) -> None:
        self.setBrush(QColor(fill))
        self.setPen(QPen(QColor(edge), width))


class Shade(QGraphicsRectItem):
    """The whole plot above a height."""

    def __init__(self) -> None:
        super().__init__()
        self.setPen(Qt.PenStyle.NoPen)

    def above(self, height: float, plot: pg.PlotWidget) -> None:
        (left, right), (_, top) = plot.getViewBox().viewRange()
        self.setRect(QRectF(left, height, right - left, max(top - height, 0.0)))


class Stem(QGraphicsLineItem):
    """From the axis up to a height."""

    def reach(self, place: float, height: float) -> None:
        self.setLine(place, 0.0, place, height)


class Pool(Generic[Item]):
    """As many items of a kind as needed; spare ones are hidden and reused."""

    def __init__(self, plot: pg.PlotWidget, make: Callable[[], Item], height: float) -> None:
        self._plot, self._make, self._height = plot, make, height
        self._items: list[Item] = []
        self._used = 0

    def begin(self) -> None:
        self._used = 0

    def take(self) -> Item:
        if self._used == len(self._items):
            item = self._make()
            add(self._plot, item, self._height)
            self._items.append(item)
        item = self._items[self._used]
        item.show()
        self._used += 1
        return item

    def give_back(self) -> None:
        """The item taken last is not needed."""
        self._used -= 1

    def end(self) -> None:
        for item in self._items[self._used :]:
            item.hide()

    @property
    def shown(self) -> list[Item]:
        return self._items[: self._used]
