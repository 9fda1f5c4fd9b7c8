"""Draws memory over one step: stacked terms, phases and peak, one layer's share, and a measured run."""

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from planner_app.gui.look.plot.areas import Areas, paint_frame, plain_plot, show_axes
from planner_app.gui.look.plot.pens import on_paper, pen
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.chart.card import Card, CardRow, CardValues
from planner_app.gui.panels.timeline.values import Course, Line, TimelineValues
from planner_app.units import format_bytes

GIB, MIB = 1 << 30, 1 << 20
LABELS = 40  # above all lines
HALF_A_LINE = 7  # pixels
ABOVE = 1.2  # of the peak: room for the names of the phases
LARGEST_TERMS = 4  # on the card
LATE = 0.94  # of the step: a name to the right of a border there would be cut
LONGEST_NAME = 32


class TimelinePlot(QWidget):
    picked = Signal(str)  # the layer whose operation was clicked on

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._values = theme, TimelineValues()
        self._unit = GIB
        self._at: int | None = None
        self.plot = plain_plot("Memory over one training step")
        self.plot.setMouseEnabled(x=True, y=False)
        self.plot.setLimits(xMin=0.0, xMax=1.0, yMin=0.0)
        self.plot.getAxis("bottom").setStyle(showValues=False, tickLength=0)
        self.plot.getAxis("bottom").setHeight(8)
        self.plot.getPlotItem().setContentsMargins(0, HALF_A_LINE, 0, 0)  # for the figure at the axis' end
        self.plot.keyPressEvent = self.keyPressEvent
        self.card = Card(self.plot)
        self._areas = Areas(self.plot, smooth=False)
        self._layer, self._measured = pg.PlotCurveItem(), pg.PlotCurveItem()
        self._cross, self._peak_line = pg.InfiniteLine(angle=90), pg.InfiniteLine(angle=90)
        self._peak = pg.ScatterPlotItem(useCache=not on_paper())
        for item in (self._layer, self._measured, self._peak_line, self._peak, self._cross):
            self.plot.addItem(item, ignoreBounds=True)
        self._borders: list[pg.GraphicsObject] = []
        self._cross.hide()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.addWidget(self.plot)
        self.setFocusProxy(self.plot)
        self.plot.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self.plot.scene().sigMouseClicked.connect(self._on_mouse_clicked)

    # Showing

    def show_values(self, values: TimelineValues) -> None:
        before, self._values = self._values, values
        if values.course is not before.course:
            self._leave()
            self._draw_course()
        self._draw_line(self._layer, values.layer)
        self._draw_line(self._measured, values.measured)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        paint_frame(self.plot, theme)
        faint = QColor(theme.accent)
        faint.setAlphaF(0.35)
        self._layer.setPen(pen(theme.accent, 2.0, on=self.plot))
        self._layer.setBrush(faint)
        self._layer.setFillLevel(0.0)
        self._measured.setPen(pen(theme.text, 1.4, on=self.plot))
        self._cross.setPen(pen(theme.text, 1.0, Qt.PenStyle.DashLine, on=self.plot))
        self._peak_line.setPen(pen(theme.bad, 1.2, Qt.PenStyle.DotLine, on=self.plot))
        self._draw_course()
        self._draw_line(self._layer, self._values.layer)
        self._draw_line(self._measured, self._values.measured)
        if self._at is not None and self._values.course is not None:
            self._look_at(self._values.course, self._at)

    def reset(self) -> None:
        course, measured = self._values.course, self._values.measured
        if course is not None:
            top = max(course.peak_bytes, float(measured.size_bytes.max()) if measured else 0.0)
            self.plot.setRange(xRange=(0.0, 1.0), yRange=(0, top / self._unit * ABOVE), padding=0.0)

    def _draw_course(self) -> None:
        for item in self._borders:
            self.plot.removeItem(item)
        self._borders = []
        course = self._values.course
        show_axes(self.plot, course is not None)
        self._peak.setVisible(course is not None)
        self._peak_line.setVisible(course is not None)
        if course is None:
            self._areas.draw(np.empty(0), [])
            return
        self._unit = GIB if course.peak_bytes >= GIB else MIB
        self.plot.setLabel("left", "GiB" if self._unit == GIB else "MiB")
        xs = _steps(np.append(course.places, 1.0))[1:-1]
        layers = [
            (self._theme.term(term), np.repeat(size / self._unit, 2)) for term, size in course.stack.terms.items()
        ]
        self._areas.draw(xs, layers)
        self._draw_peak(course)
        self.reset()
        self._draw_phases()

    def _draw_peak(self, course: Course) -> None:
        at = (course.peak_place, course.peak_bytes / self._unit)
        ring = pen(self._theme.bad, 2.0, on=self.plot)
        self._peak.setData([{"pos": at, "size": 9, "pen": ring, "brush": self._theme.surface}])
        self._peak_line.setPos(at[0])

    def _draw_phases(self) -> None:
        top = self.plot.getViewBox().viewRange()[1][1]
        for span in self._values.spans:
            side = 0 if span.begin < LATE else 1
            ground = self._theme.surface  # the peak's line may stand right there
            name = pg.TextItem(str(span.phase), color=self._theme.muted, fill=ground, anchor=(side, 0))
            name.setZValue(LABELS)
            name.setPos(span.begin, top)
            items: list[pg.GraphicsObject] = [name]
            if span.begin > 0:
                border = pen(self._theme.muted, 1.0, Qt.PenStyle.DashLine, on=self.plot)
                items.append(pg.InfiniteLine(span.begin, angle=90, pen=border))
            for item in items:
                self.plot.addItem(item, ignoreBounds=True)
            self._borders += items

    def _draw_line(self, item: pg.PlotCurveItem, line: Line | None) -> None:
        item.setVisible(line is not None)
        if line is not None:
            xs = _steps(np.append(line.places, 1.0))[1:-1]
            item.setData(xs, np.repeat(line.size_bytes / self._unit, 2))

    # User input

    def _on_mouse_moved(self, at: QPointF) -> None:
        course, box = self._values.course, self.plot.getViewBox()
        if course is None or not box.sceneBoundingRect().contains(at):
            self._leave()
        else:
            self._look_at(course, course.nearest(box.mapSceneToView(at).x()))

    def _look_at(self, course: Course, move: int) -> None:
        self._at = move
        self._cross.show()
        self._cross.setPos(float(course.places[move]))
        here = self.plot.getViewBox().mapViewToScene(QPointF(float(course.places[move]), 0.0)).x()
        middle = self.plot.height() // 2
        self.card.show_values(card_values(course, move, self._theme), QPointF(here, middle).toPoint())

    def _leave(self) -> None:
        self._at = None
        self._cross.hide()
        self.card.hide()

    def _on_mouse_clicked(self, event: object) -> None:
        if event.button() != Qt.MouseButton.LeftButton:  # type: ignore[attr-defined]
            return
        if event.double():  # type: ignore[attr-defined]
            self.reset()
        elif self.plot.getViewBox().sceneBoundingRect().contains(event.scenePos()):  # type: ignore[attr-defined]
            self._on_mouse_moved(event.scenePos())  # type: ignore[attr-defined]
            self._pick()

    def _pick(self) -> None:
        course = self._values.course
        if course is not None and self._at is not None and (layer := course.stack.source(self._at).layer):
            self.picked.emit(layer)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys move along the step, Enter highlights the layer there, Home shows the whole step again."""
        course, key = self._values.course, Qt.Key(event.key())
        if course is None:
            event.ignore()
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            start = course.stack.peak if self._at is None else self._at + (1 if key == Qt.Key.Key_Right else -1)
            self._look_at(course, min(max(start, 0), len(course.places) - 1))
        elif key == Qt.Key.Key_P:
            self._look_at(course, course.stack.peak)
        elif key == Qt.Key.Key_Home:
            self.reset()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._pick()
        else:
            event.ignore()

    def event(self, event: QEvent) -> bool:
        """A screen of another scale needs other pens."""
        if event.type() is QEvent.Type.DevicePixelRatioChange:
            self.set_theme(self._theme)
        return super().event(event)

    def leaveEvent(self, event: object) -> None:
        self._leave()


def card_values(course: Course, move: int, theme: Theme) -> CardValues:
    source, shown = course.stack.source(move), course.stack
    terms = sorted(((int(size[move]), term) for term, size in shown.terms.items()), reverse=True)
    rows = [CardRow(theme.term(term), term, format_bytes(size)) for size, term in terms[:LARGEST_TERMS] if size]
    name = source.name.rpartition("/")[2]
    name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    title = f"{name} ({source.type})" if source.type and source.type != name else name
    where = f"{source.layer or 'no layer'}, {source.phase}: {format_bytes(int(shown.in_use[move]))}"
    return CardValues(title, where, theme.bad if move == shown.peak else theme.text, tuple(rows))


def _steps(places: np.ndarray) -> np.ndarray:
    """Each x value twice, since memory changes in steps, not slopes."""
    return np.repeat(places, 2)
