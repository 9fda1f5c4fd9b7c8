"""The chosen batch: a ring on its line, a stem down to the axis and a handle there, which can be dragged."""

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QMouseEvent

from planner_app.gui.look.plot.pens import faint, pen
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.chart.drawn.items import Ring, Stem, add
from planner_app.gui.panels.chart.drawn.labels import Box, Room, Side, Tag, Words
from planner_app.gui.panels.chart.values import Chosen

GRIP = 8.0  # pixels around the stem in which it can be taken
UP = 4.0  # pixels from the axis to the handle
RING = 13.0
# Left of the point, where the line is below it; else above, and at the chart's left edge to the right.
SIDES: tuple[Side, ...] = (
    (-1.0, -0.5, -16.0, 0.0),
    (-1.0, -1.0, -12.0, -2.0),
    (-0.5, -1.0, 0.0, -14.0),
    (0.0, -1.0, 12.0, -2.0),
    (0.0, -0.5, 16.0, 0.0),
)


class Marker:
    def __init__(self, plot: pg.PlotWidget) -> None:
        self._plot = plot
        self._ring, self._stem, self.size, self.handle = Ring(RING), Stem(), Tag(), Tag()
        for item, height in ((self._stem, 21), (self._ring, 25), (self.size, 27), (self.handle, 29)):
            add(plot, item, height)
        self.place: float | None = None

    def draw(self, chosen: Chosen | None, theme: Theme, room: Room, at: tuple[float, float, float, float]) -> None:
        """`at` is the point on the view and in pixels."""
        for item in (self._ring, self._stem, self.size, self.handle):
            item.setVisible(chosen is not None)
        self.place = None if chosen is None else at[0]
        if chosen is None:
            return
        x, y, right, down = at
        colour = theme.text if chosen.verdict is None else theme.verdict(chosen.verdict)
        self._ring.setPos(x, y)
        self._ring.paint_as(theme.surface, colour, 2.5)
        self._stem.reach(x, y)
        self._stem.setPen(pen(faint(colour, 0.55), 1.4, on=self._plot))
        self.handle.say([Words(f"{chosen.batch:,}", theme.surface, bold=True)], colour, solid=True)
        self._stand_handle(at, room)
        words = f"{chosen.gib:.1f} GiB" if chosen.gib >= 1 else f"{chosen.gib * 1024:.0f} MiB"
        self.size.say([Words(words, colour, bold=True)], theme.surface)
        box = room.find(right, down, self.size.width, self.size.height, SIDES)
        self.size.setVisible(box is not None)
        if box is not None:
            self.size.stand(x, y, box.left - right, box.top - down)

    @property
    def top(self) -> QPointF:
        """The ring, in pixels of the scene."""
        return self._ring.scenePos()

    def _stand_handle(self, at: tuple[float, float, float, float], room: Room) -> None:
        """On the axis, or above the ring if that lies there."""
        x, y, right, down = at
        wide, high = self.handle.width, self.handle.height
        room.taken.append(Box(right - RING / 2, down - RING / 2, RING, RING))
        foot = room.area.bottom - UP - high
        if down + RING / 2 > foot:
            top = down - RING / 2 - 2.0 - high
            self.handle.stand(x, y, -wide / 2, top - down)
        else:
            top = foot
            self.handle.stand(x, self._plot.getViewBox().viewRange()[1][0], -wide / 2, -high - UP)
        room.taken.append(Box(right - wide / 2, top, wide, high))


class MarkerDrag(QObject):
    """Watches the plot for the pointer on the marker."""

    dragged = Signal(float)  # to this place of the axis
    dropped = Signal()

    def __init__(self, plot: pg.PlotWidget, marker: Marker) -> None:
        super().__init__(plot)
        self._plot, self._marker = plot, marker
        self.active = False
        plot.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QMouseEvent):
            return False
        kind, at = event.type(), self._plot.mapToScene(event.position().toPoint())
        left = Qt.MouseButton.LeftButton
        if kind is QEvent.Type.MouseButtonPress and event.button() is left and self.is_near(at):
            self.active = True
            return True
        if kind is QEvent.Type.MouseMove and self.active:
            self.dragged.emit(self._plot.getViewBox().mapSceneToView(at).x())
            return True
        if kind is QEvent.Type.MouseButtonRelease and self.active and event.button() is left:
            self.active = False
            self.dropped.emit()
            return True
        if kind is QEvent.Type.MouseMove:
            shape = Qt.CursorShape.SizeHorCursor if self.is_near(at) else Qt.CursorShape.ArrowCursor
            self._plot.viewport().setCursor(shape)
        return False

    def is_near(self, at: QPointF) -> bool:
        """On the stem, or on the handle at its foot."""
        box, place = self._plot.getViewBox(), self._marker.place
        if place is None or not box.sceneBoundingRect().contains(at):
            return False
        on_handle = self._marker.handle.sceneBoundingRect().contains(at) and self._marker.handle.isVisible()
        foot = box.mapViewToScene(QPointF(place, 0.0))
        above_ring = at.y() < self._marker.top.y() - GRIP
        return bool(on_handle or (abs(at.x() - foot.x()) <= GRIP and not above_ring))
