"""The capacity chart as a widget: legend, plot, crosshair and card, with pointer and keyboard input."""

import math

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from planner_app.gui.look.plain_label import PlainLabel
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.chart.axis import BatchAxis
from planner_app.gui.panels.chart.card import Card, CardValues
from planner_app.gui.panels.chart.drawing import Drawing
from planner_app.gui.panels.chart.items import add
from planner_app.gui.panels.chart.legend import Legend
from planner_app.gui.panels.chart.values import Picture, Series, gpus_text

NEAR = 48  # pixels within which the pointer selects a line
STEPS = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, 1), Qt.Key.Key_Down: (0, -1)}


class ChartView(QWidget):
    picked = Signal(tuple, float)  # a line's key, and the batch on it
    hovered = Signal(tuple, float, QPoint)
    left = Signal()
    stepped = Signal(int, int)  # arrow keys: to the right, upwards

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._moved = self._showing = False
        self.axis, self.legend = BatchAxis(), Legend()
        self.plot = pg.PlotWidget(axisItems={"bottom": self.axis})
        self.plot.setAccessibleName("Capacity chart: memory of one GPU over the global batch")
        self.plot.setMenuEnabled(False)
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
        self.legend.toggled.connect(self.drawing.draw_series)

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
        reset = _button("Reset view", "Show everything again (Home, or double-click)")
        reset.clicked.connect(self.reset)
        top = QHBoxLayout()
        top.setContentsMargins(0, 0, 8, 0)
        for widget, stretch in ((self.legend, 1), (self.log_button, 0), (reset, 0)):
            top.addWidget(widget, stretch)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(0)
        column.addLayout(top)
        column.addWidget(self._note)
        column.addWidget(self.plot, 1)
        self.setFocusProxy(self.plot)

    # Showing

    def show_picture(self, picture: Picture) -> None:
        before = self.drawing.picture
        self._note.setText(picture.note)
        self._note.setVisible(bool(picture.note))
        ranges = (picture.least_batch, picture.most_batch, picture.top_gib)
        if not self._moved and ranges != (before.least_batch, before.most_batch, before.top_gib):
            self._showing = True  # draw for the new range only once, below
            self._set_range(picture)
            self._showing = False
        self.drawing.show(picture)
        if _legend_keys(picture) != _legend_keys(before):
            self._show_legend()
        if picture.series == before.series and ranges != (before.least_batch, before.most_batch, before.top_gib):
            self.drawing.draw_moved()

    def show_card(self, values: CardValues | None, at: QPoint) -> None:
        if values is None:
            self.card.hide()
        else:
            self.card.show_values(values, at)

    def set_theme(self, theme: Theme) -> None:
        self.drawing.theme = theme
        self._paint_frame()
        self._show_legend()
        self.drawing.draw_all()

    def set_log(self, on: bool) -> None:
        if on != self.axis.log:
            self.axis.log = on
            self.log_button.setChecked(on)
            self.drawing.draw_all()
            self.reset()

    def reset(self) -> None:
        self._moved = False
        self._set_range(self.drawing.picture)

    def _set_range(self, picture: Picture) -> None:
        place = self.axis.place
        box = self.plot.getViewBox()
        box.setLimits(xMin=place(1) - (0.2 if self.axis.log else 0), yMin=0)
        xs = (place(picture.least_batch), place(picture.most_batch))
        box.setRange(xRange=xs, yRange=(0, picture.top_gib), padding=0.0)

    def _paint_frame(self) -> None:
        theme = self.drawing.theme
        self.plot.setBackground(theme.surface)
        for side in ("bottom", "left"):
            axis = self.plot.getAxis(side)
            axis.setPen(theme.grid)
            axis.setTextPen(theme.muted)
            axis.label.setDefaultTextColor(QColor(theme.muted))
        for line in self._cross:
            line.setPen(pg.mkPen(theme.muted, width=1, style=Qt.PenStyle.DashLine))

    def _show_legend(self) -> None:
        theme, entries = self.drawing.theme, dict[object, tuple[str, QPen]]()
        for series in self.drawing.picture.series:
            colour = theme.precision(series.precisions[0])
            entries.setdefault(series.precisions, (" / ".join(series.precisions), pg.mkPen(colour, width=3)))
        for gpus in sorted({series.gpus for series in self.drawing.picture.series}):
            entries[gpus] = (gpus_text(gpus), pg.mkPen(theme.muted, width=2, style=self.drawing.style(gpus)))
        self.legend.show_entries(entries, self.devicePixelRatioF())

    def _on(self, series: Series) -> bool:
        return self.legend.is_on(series.precisions) and self.legend.is_on(series.gpus)

    # User input

    def nearest(self, at: QPointF) -> tuple[Series, float] | None:
        """The line at a position on the chart, and the nearest batch on it."""
        box = self.plot.getViewBox()
        here = box.mapSceneToView(at)
        batch, pixel = self.axis.batch(here.x()), box.viewPixelSize()[1] or 1.0
        best: tuple[float, Series] | None = None
        for series in filter(self._on, self.drawing.picture.series):
            height = series.curve.at(max(1, round(batch / series.share)))[0]
            far = abs(height - here.y()) / pixel - (
                6 if series.chosen else 0
            )  # prefer the chosen one of two near lines
            if best is None or far < best[0]:
                best = (far, series)
        return None if best is None or best[0] > NEAR else (best[1], batch)

    def _on_mouse_moved(self, at: QPointF) -> None:
        found = self.nearest(at) if self.plot.getViewBox().sceneBoundingRect().contains(at) else None
        for line in self._cross:
            line.setVisible(found is not None)
        if found is None:
            self.card.hide()
            self.left.emit()
            return
        series, batch = found
        known = (batch * series.share for batch in series.curve.batches)
        snapped = min(known, key=lambda each: abs(math.log2(each / max(batch, 0.5))))
        self._cross[0].setPos(self.axis.place(snapped))
        self._cross[1].setPos(series.curve.at(snapped // series.share)[0])
        self.hovered.emit(series.key, snapped, self.plot.mapFromScene(at))

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
        for line in self._cross:
            line.hide()
        self.left.emit()


def _legend_keys(picture: Picture) -> list[tuple[object, int]]:
    return [(series.precisions, series.gpus) for series in picture.series]


def _button(text: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setAutoRaise(True)
    return button
