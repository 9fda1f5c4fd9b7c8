"""The capacity chart as a widget: legend, plot, crosshair and card, with pointer and keyboard input."""

import math

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.plot.pens import faint, pen
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.chart.axis import BatchAxis
from planner_app.gui.panels.chart.card import Card, CardValues
from planner_app.gui.panels.chart.drawing import NOTHING, Drawing
from planner_app.gui.panels.chart.drawn.items import add
from planner_app.gui.panels.chart.drawn.marker import MarkerDrag
from planner_app.gui.panels.chart.legend import Entry, Legend
from planner_app.gui.panels.chart.multiples import Multiples
from planner_app.gui.panels.chart.values import Picture, Series
from planner_app.reports.run_words import run_text

FINE = 3.0  # pixels: batches that are closer to one another can't be told apart by the pointer
FOOT = 0.025  # of the height, below zero: room for the ring of a batch that takes next to nothing
NEAR = 48  # pixels within which the pointer selects a line
STEPS = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, 1), Qt.Key.Key_Down: (0, -1)}


class ChartView(QWidget):
    picked = Signal(tuple, int)  # a line's key, and the batch on it
    hovered = Signal(tuple, int, QPoint)
    dragged = Signal(int)  # the chosen batch, to this one
    dropped = Signal()
    left = Signal()
    stepped = Signal(int, int)  # arrow keys: to the right, upwards

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._moved = self._showing = False
        self.axis, self.legend = BatchAxis(), Legend()
        self.plot = pg.PlotWidget(axisItems={"bottom": self.axis}, enableMenu=False)
        self.plot.setAccessibleName("Capacity chart: memory of one GPU over the global batch")
        self.plot.hideButtons()
        self.plot.setLabel("bottom", "global batch")
        self.plot.setLabel("left", "GiB on each GPU")
        self.plot.showGrid(x=True, y=True, alpha=0.18)
        self.plot.getAxis("left").enableAutoSIPrefix(False)
        self.card = Card(self.plot)
        self.drawing = Drawing(self.plot, self.axis, theme, self._on)
        self._cross = (pg.InfiniteLine(angle=90), pg.InfiniteLine(angle=0))
        for line in self._cross:
            add(self.plot, line, 20)
            line.hide()
        self._lay_out()
        self._paint_frame()
        self.plot.installEventFilter(self)
        self.plot.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self.plot.scene().sigMouseClicked.connect(self._on_mouse_clicked)
        self.plot.getViewBox().sigRangeChangedManually.connect(self._on_moved)
        self.plot.getViewBox().sigRangeChanged.connect(self._on_range_changed)
        self._resized = QTimer(self, singleShot=True, interval=0)  # once for all sizes of a window being laid out
        self._resized.timeout.connect(lambda: self.drawing.draw_moved())
        self.plot.getViewBox().sigResized.connect(self._resized.start)
        self.legend.toggled.connect(self.drawing.draw_series)
        self.legend.hovered.connect(self._on_legend_hovered)
        self.drag = MarkerDrag(self.plot, self.drawing.marker)
        self.drag.dragged.connect(self._on_dragged)
        self.drag.dropped.connect(self._on_dropped)

    def _lay_out(self) -> None:
        self._note = PlainLabel()
        self._note.setWordWrap(True)
        self._note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._note.hide()
        self.log_button = _button("log₂", "Batch axis in powers of two, or linear (Alt+L)")
        self.log_button.setCheckable(True)
        self.log_button.setChecked(True)
        self.log_button.setShortcut("Alt+L")
        self.log_button.toggled.connect(self.set_log)
        self.reset_button = reset = _button("Reset view", "Show everything again (Home, or double-click)")
        reset.clicked.connect(self.reset)
        self.grid = Multiples(self.drawing.theme, self.axis)
        self.grid.picked.connect(self.picked)
        self.grid.stepped.connect(self.stepped)
        self.grid_button = _button("Grid", "A small chart for each precision and number of GPUs (Ctrl+G)")
        self.grid_button.setCheckable(True)
        self.grid_button.setShortcut("Ctrl+G")
        self.grid_button.toggled.connect(self.show_grid)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.plot)
        self.pages.addWidget(self.grid)
        top = QHBoxLayout()
        top.setContentsMargins(0, 0, 8, 0)
        top.addWidget(self.legend, 100)
        top.addStretch(1)  # keeps the buttons in their corner while the legend is hidden
        for button in (self.grid_button, self.log_button, reset):
            top.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(0)
        column.addLayout(top)
        column.addWidget(self._note)
        column.addWidget(self.pages, 1)
        self.setFocusProxy(self.plot)

    # Showing

    def hide_controls(self) -> None:
        """For paper."""
        for button in (self.grid_button, self.log_button, self.reset_button):
            button.hide()

    def show_picture(self, picture: Picture) -> None:
        before = self.drawing.picture
        self._note.setText(picture.note)
        self._note.setVisible(bool(picture.note))
        ranges = (picture.least_batch, picture.most_batch, picture.top_gib)
        moves = not self._moved and not self.drag.active  # the axis must not run away under a marker that is dragged
        if moves and ranges != (before.least_batch, before.most_batch, before.top_gib):
            self._showing = True  # draw for the new range only once, below
            self._set_range(picture)
            self._showing = False
        self.drawing.show(picture)
        self.grid.show_picture(picture)
        if _legend_keys(picture) != _legend_keys(before):
            self._show_legend()
        if picture.series == before.series and ranges != (before.least_batch, before.most_batch, before.top_gib):
            self.drawing.draw_moved()

    def show_grid(self, on: bool) -> None:
        self.grid_button.setChecked(on)
        self.pages.setCurrentWidget(self.grid if on else self.plot)
        self.legend.setVisible(not on)
        self.reset_button.setVisible(not on)
        self.setFocusProxy(self.grid if on else self.plot)

    def show_card(self, values: CardValues | None, at: QPoint) -> None:
        if values is None:
            self.card.hide()
        else:
            self.card.show_aside(values, at, self._plot_area(), self._line_points())

    def set_theme(self, theme: Theme) -> None:
        self.drawing.theme = theme
        self.grid.set_theme(theme)
        self._paint_frame()
        self._show_legend()
        self.drawing.draw_all()

    def set_log(self, on: bool) -> None:
        if on != self.axis.log:
            self.axis.log = on
            self.log_button.setChecked(on)
            self.drawing.draw_all()
            self.grid.update()
            self.reset()

    def reset(self) -> None:
        self._moved = False
        self._set_range(self.drawing.picture)

    def _set_range(self, picture: Picture) -> None:
        place = self.axis.place
        box = self.plot.getViewBox()
        foot = -FOOT * picture.top_gib
        box.setLimits(xMin=place(1) - (0.2 if self.axis.log else 0), yMin=foot)
        xs = (place(picture.least_batch), place(picture.most_batch))
        box.setRange(xRange=xs, yRange=(foot, picture.top_gib), padding=0.0)

    def _paint_frame(self) -> None:
        theme = self.drawing.theme
        self.plot.setBackground(theme.surface)
        for side in ("bottom", "left"):
            axis = self.plot.getAxis(side)
            axis.setPen(pen(theme.grid, 1.0, on=self.plot))
            axis.setTextPen(theme.muted)
            axis.label.setDefaultTextColor(QColor(theme.muted))
        for line in self._cross:
            line.setPen(pen(faint(theme.muted, 0.7), 1.0, Qt.PenStyle.DashLine, on=self.plot))

    def _show_legend(self) -> None:
        theme, entries = self.drawing.theme, dict[object, Entry]()
        for series in self.drawing.picture.series:
            names = " / ".join(series.precisions)
            sample = pen(theme.precision(series.precisions[0]), 3.0, on=self)
            entries.setdefault(series.precisions, Entry(names, sample, f"Show or hide the lines of {names}."))
        runs = {series.run: series for series in self.drawing.picture.series}
        for number, run in enumerate(sorted(runs)):
            sample = pen(theme.muted, 2.0, self.drawing.style(run[0]), on=self)
            entries[run] = Entry(run_text(*run), sample, runs[run].why, first=number == 0)
        self.legend.show_entries(entries)

    def _on(self, series: Series) -> bool:
        return self.legend.is_on(series.precisions) and self.legend.is_on(series.run)

    def _plot_area(self) -> QRect:
        return QRect(self.plot.mapFromScene(self.plot.getViewBox().sceneBoundingRect()).boundingRect())

    def _line_points(self) -> list[tuple[float, float]]:
        """Of all visible lines, and the corners of the labels; in pixels of the plot widget."""
        (left, right), (bottom, top) = self.plot.getViewBox().viewRange()
        area = self._plot_area()
        across, down = area.width() / max(right - left, 1e-9), area.height() / max(top - bottom, 1e-9)
        found = []
        for series in filter(self._on, self.drawing.picture.series):
            xs, ys = self.drawing.curves[series.key].getData()
            seen = (ys <= top) & (xs >= left) & (xs <= right)
            places = zip((xs[seen] - left) * across, (top - ys[seen]) * down, strict=True)
            found += [(area.left() + x, area.top() + y) for x, y in places]
        for box in self.drawing.room.taken:
            xs = (box.left, box.left + box.width / 2, box.right)
            found += [(area.left() + x, area.top() + y) for x in xs for y in (box.top, box.bottom)]
        return found

    # User input

    def nearest(self, at: QPointF) -> tuple[Series, int] | None:
        """The line at a position on the chart, and the batch there: what the pointer shows and what a click takes."""
        box = self.plot.getViewBox()
        here = box.mapSceneToView(at)
        batch, pixel = self.axis.batch(here.x()), box.viewPixelSize()[1] or 1.0
        best: tuple[float, Series] | None = None
        for series in filter(self._on, self.drawing.picture.series):
            height = series.curve.at(max(1, round(batch / series.share)))[0]
            # Prefer the chosen one of two near lines.
            far = abs(height - here.y()) / pixel - (6 if series.chosen else 0)
            if best is None or far < best[0]:
                best = (far, series)
        return None if best is None or best[0] > NEAR else (best[1], self.snapped(here.x(), best[1].share))

    def snapped(self, place: float, share: int) -> int:
        """The roundest batch under the pointer: a multiple of what can be told apart there, in powers of two."""
        pixel = self.plot.getViewBox().viewPixelSize()[0] or 0.0
        batch = self.axis.batch(place)
        apart = (self.axis.batch(place + FINE * pixel) - batch) / share
        step = 1 << max(int(math.log2(max(apart, 1.0))), 0)
        return max(1, round(batch / share / step) * step) * share

    def _on_mouse_moved(self, at: QPointF) -> None:
        inside = self.plot.getViewBox().sceneBoundingRect().contains(at) and not self.drag.is_near(at)
        found = self.nearest(at) if inside else None
        for line in self._cross:
            line.setVisible(found is not None)
        self.drawing.point_at(NOTHING if found is None else frozenset((found[0].key,)))
        if found is None:
            self.card.hide()
            self.left.emit()
            return
        series, batch = found
        self._cross[0].setPos(self.axis.place(batch))
        self._cross[1].setPos(series.curve.at(batch // series.share)[0])
        self.hovered.emit(series.key, batch, self.plot.mapFromScene(at))

    def _on_legend_hovered(self, key: object) -> None:
        series = self.drawing.picture.series
        keys = frozenset(each.key for each in series if key in (each.precisions, each.run) and self._on(each))
        self.drawing.point_at(NOTHING if key is None else keys)

    def _on_dropped(self) -> None:
        if not self._moved:
            self.reset()
        self.dropped.emit()

    def _on_dragged(self, place: float) -> None:
        chosen = next((series for series in self.drawing.picture.series if series.chosen), None)
        if chosen is not None:
            self.dragged.emit(self.snapped(place, chosen.share))

    def _on_mouse_clicked(self, event: "pg.GraphicsScene.mouseEvents.MouseClickEvent") -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        if event.double():
            self.reset()
        elif found := self.nearest(event.scenePos()):
            self.picked.emit(found[0].key, found[1])

    def _on_range_changed(self) -> None:
        if not self._showing:
            self.drawing.draw_moved()

    def _on_moved(self) -> None:
        self._moved = True

    def event(self, event: QEvent) -> bool:
        """A screen of another scale needs other pens."""
        if event.type() is QEvent.Type.DevicePixelRatioChange:
            self.set_theme(self.drawing.theme)
        return super().event(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keys pressed while the plot has focus."""
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:
            if event.key() in STEPS:
                self.stepped.emit(*STEPS[Qt.Key(event.key())])
                return True
            if event.key() == Qt.Key.Key_Home:
                self.reset()
                return True
        return super().eventFilter(watched, event)

    def leaveEvent(self, event: QEvent) -> None:
        self.card.hide()
        self.drawing.point_at(NOTHING)
        for line in self._cross:
            line.hide()
        self.left.emit()


def _legend_keys(picture: Picture) -> list[tuple[object, ...]]:
    return [(series.precisions, series.run, series.why) for series in picture.series]


def _button(text: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setAutoRaise(True)
    return button
