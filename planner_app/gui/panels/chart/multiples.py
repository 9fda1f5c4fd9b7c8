"""The chart as small multiples: a cell for each precision and way of running, all on the same axes."""

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFont, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from planner_app.core.estimate.verdict import Verdict
from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.look.plot.pens import faint
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.chart.axis import BatchAxis
from planner_app.gui.panels.chart.values import Picture, Series
from planner_app.reports.run_words import run_text

HEAD, FOOT, SIDE = 20.0, 18.0, 120.0  # pixels: above the cells, below them, and beside them for precisions
GAP, PAD = 6.0, 5.0
TINTS = {Verdict.FITS: 0.10, Verdict.TIGHT: 0.14, Verdict.DOES_NOT_FIT: 0.10}
MARKS = {Verdict.FITS: "✓", Verdict.TIGHT: "≈", Verdict.DOES_NOT_FIT: "✗"}  # not by colour alone


class Multiples(QWidget):
    picked = Signal(tuple, int)  # a line's key, and the batch on it
    stepped = Signal(int, int)  # arrow keys: to the right, upwards

    def __init__(self, theme: Theme, axis: BatchAxis) -> None:
        super().__init__()
        self._theme, self._axis, self._picture = theme, axis, Picture()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self.setAccessibleName("Memory over the batch for each precision and number of GPUs, with the largest batch")

    def show_picture(self, picture: Picture) -> None:
        self._picture = picture
        self.update()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    @property
    def precisions(self) -> list[tuple[str, ...]]:
        return list(dict.fromkeys(series.precisions for series in self._picture.series))

    @property
    def runs(self) -> list[tuple[int, bool]]:
        return sorted({series.run for series in self._picture.series})

    def cell(self, series: Series) -> QRectF:
        rows, columns = self.precisions, self.runs
        width = (self.width() - SIDE - GAP * len(columns)) / len(columns)
        height = (self.height() - HEAD - FOOT - GAP * len(rows)) / len(rows)
        column, row = columns.index(series.run), rows.index(series.precisions)
        return QRectF(SIDE + column * (width + GAP), HEAD + row * (height + GAP), width, height)

    def at(self, place: QPointF) -> tuple[Series, int] | None:
        """The cell there, and the batch that a click takes."""
        for series in self._picture.series:
            box = self.cell(series)
            if box.contains(place):
                low, high = self._ends()
                share = (place.x() - box.left()) / max(box.width(), 1.0)
                batch = self._axis.batch(low + (high - low) * share)
                step = 1 << max(int(np.log2(max(batch / series.share / 24, 1.0))), 0)
                return series, max(1, round(batch / series.share / step) * step) * series.share
        return None

    def _ends(self) -> tuple[float, float]:
        return self._axis.place(self._picture.least_batch), self._axis.place(self._picture.most_batch)

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.surface))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self._picture.series:
            return
        self._paint_heads(painter)
        for number, series in enumerate(self._picture.series):
            verdicts = self._picture.verdicts
            self._paint_cell(painter, series, self.cell(series), verdicts[number] if number < len(verdicts) else None)

    def _paint_heads(self, painter: QPainter) -> None:
        painter.setPen(QColor(self._theme.muted))
        done: set[object] = set()
        end, middle = Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignVCenter
        for series in self._picture.series:
            box = self.cell(series)
            if series.run not in done:
                room = QRectF(box.left(), 0, box.width(), HEAD)
                self._write(painter, room, run_text(*series.run), int(Qt.AlignmentFlag.AlignHCenter | middle))
            if series.precisions not in done:
                painter.setPen(QColor(self._theme.precision(series.precisions[0])))
                room = QRectF(4, box.top(), SIDE - 12, box.height())
                painter.drawText(room, int(end | middle), "\n".join(series.precisions))
                painter.setPen(QColor(self._theme.muted))
            done |= {series.run, series.precisions}
        first, last = f"{self._picture.least_batch:,}", f"{self._picture.most_batch:,}"
        foot = QRectF(SIDE, self.height() - FOOT, self.width() - SIDE - GAP, FOOT)
        chosen = self._picture.chosen
        told = f"At {chosen.batch:,}: ✓ fits, ≈ tight, ✗ does not fit. " if chosen else ""
        line = f"{told}Each cell: {first} to {last} samples, 0 to {self._picture.top_gib:.0f} GiB"
        self._write(painter, foot, line, int(Qt.AlignmentFlag.AlignLeft | middle))

    def _paint_cell(self, painter: QPainter, series: Series, box: QRectF, verdict: Verdict | None) -> None:
        theme = self._theme
        painter.fillRect(box, QColor(theme.raised))
        if verdict is not None:
            painter.fillRect(box, faint(theme.verdict(verdict), TINTS[verdict]))
        painter.save()
        painter.setClipRect(box)
        colour = theme.precision(series.precisions[0])
        low, peak, high = (self._points(series, box, of) for of in ("low_gib", "peak_gib", "high_gib"))
        band = np.concatenate((low[0], high[0][::-1])), np.concatenate((low[1], high[1][::-1]))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(faint(colour, 0.22))
        painter.drawPolygon(pg.functions.arrayToQPolygonF(*band))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for capacity in self._picture.capacities:
            y = box.bottom() - capacity.limit_gib / self._picture.top_gib * box.height()
            painter.setPen(QPen(QColor(theme.bad) if capacity.chosen else faint(theme.muted, 0.4), 1.2))
            painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
        painter.setPen(QPen(QColor(colour), 2.0))
        painter.drawPolyline(pg.functions.arrayToQPolygonF(*peak))
        self._paint_chosen(painter, box)
        painter.restore()
        self._paint_words(painter, series, box, verdict)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(theme.text if series.chosen else theme.grid), 2.0 if series.chosen else 1.0))
        painter.drawRect(box)

    def _paint_chosen(self, painter: QPainter, box: QRectF) -> None:
        if (chosen := self._picture.chosen) is not None:
            low, high = self._ends()
            x = box.left() + (self._axis.place(chosen.batch) - low) / max(high - low, 1e-9) * box.width()
            painter.setPen(QPen(faint(self._theme.text, 0.5), 1.0, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))

    def _paint_words(self, painter: QPainter, series: Series, box: QRectF, verdict: Verdict | None) -> None:
        room, plain = box.adjusted(PAD, PAD - 2, -PAD, -PAD), painter.font()
        bold = QFont(plain)
        bold.setBold(True)
        painter.setFont(bold)
        painter.setPen(QColor(self._theme.verdict(verdict)))
        left, line = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop), painter.fontMetrics().height()
        none = "not even one fits" if series.largest == 0 else "no limit"
        text = f"{series.largest:,}{'+' if series.bound else ''}" if series.largest else none
        self._write(painter, room, f"{MARKS[verdict]} {text}" if verdict else text, left)
        painter.setFont(plain)
        painter.setPen(QColor(self._theme.muted))
        if series.largest and series.sure is not None and room.height() > 2.4 * line:
            self._write(painter, room.adjusted(0, line, 0, 0), f"{series.sure:,} sure", left)

    def _points(self, series: Series, box: QRectF, of: str) -> tuple[np.ndarray, np.ndarray]:
        batches = np.array(series.curve.batches, dtype=float) * series.share
        places = np.log2(batches) if self._axis.log else batches
        low, high = self._ends()
        xs = box.left() + (places - low) / max(high - low, 1e-9) * box.width()
        return xs, box.bottom() - np.array(getattr(series.curve, of)) / self._picture.top_gib * box.height()

    def _write(self, painter: QPainter, room: QRectF, text: str, flags: int) -> None:
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, flags, shown)

    # User input

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and (found := self.at(event.position())):
            self.picked.emit(found[0].key, found[1])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, 1), Qt.Key.Key_Down: (0, -1)}
        if event.key() in steps:
            self.stepped.emit(*steps[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            found = self.at(QPointF(event.pos()))
            if found is None:
                QToolTip.hideText()
            else:
                series, batch = found
                size = series.curve.at(max(1, batch // series.share))[0]
                text = f"{series.label}\nbatch {batch:,}: {size:.2f} GiB on each GPU\n{series.why}"
                QToolTip.showText(event.globalPos(), plain_tip(text), self)
            return True
        return super().event(event)
