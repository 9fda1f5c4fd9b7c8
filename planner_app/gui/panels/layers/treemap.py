"""The treemap: every layer's share of the peak as area and colour, blocks and nested models around their layers."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from planner_app.gui.look.plot.ramp import ink, ramp
from planner_app.gui.look.table.bars import percent
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.layers.squarify import LEAST_GROUP, Box, Tile, tiles
from planner_app.gui.panels.layers.values import NO_LAYER_MEANING, LayerRow
from planner_app.units import format_bytes

LEAST_TEXT = (34, 15)  # the smallest tile with a name, in pixels
FADED = 0.22  # opacity of layers that the filter excludes


class Treemap(QWidget):
    picked = Signal(str)  # a layer

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: tuple[LayerRow, ...] = ()
        self._filter, self._layer = "", ""
        self.tiles: list[Tile] = []
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Layers by their share of the peak")
        self.setMouseTracking(True)

    def show_rows(self, rows: Sequence[LayerRow]) -> None:
        if rows != self._rows:
            self._rows = tuple(rows)
            self._lay_out()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def set_filter(self, text: str) -> None:
        self._filter = text
        self.update()

    def select(self, layer: str) -> None:
        self._layer = layer
        shown = next((row for row in self._rows if row.path == layer), None) if layer else None
        self.setAccessibleDescription(describe(shown) if shown else "")
        self.update()

    def tile_at(self, x: float, y: float) -> Tile | None:
        """The innermost."""
        return next((tile for tile in reversed(self.tiles) if tile.box.contains(x, y)), None)

    def _lay_out(self) -> None:
        """Only once visible: it is not needed behind the table."""
        if not self.isVisible():
            return
        self.tiles = tiles(self._rows, Box(0.0, 0.0, float(self.width()), float(self.height())))
        self.update()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.surface))
        for tile in self.tiles:
            if tile.row is None:
                self._paint_group(painter, tile)
            else:
                self._paint_layer(painter, tile, tile.row)
        chosen = next((tile for tile in self.tiles if tile.row and tile.row.path == self._layer), None)
        if chosen is not None and self._layer:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            for colour, width in ((self._theme.surface, 4.0), (self._theme.text, 2.0)):
                painter.setPen(QPen(QColor(colour), width))
                painter.drawRect(_rect(chosen.box).adjusted(1.5, 1.5, -1.5, -1.5))
        painter.end()

    def _paint_group(self, painter: QPainter, tile: Tile) -> None:
        room = _rect(tile.box)
        painter.fillRect(room, QColor(self._theme.raised))
        painter.setPen(QPen(QColor(self._theme.muted), 1.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(room.adjusted(0.5, 0.5, -0.5, -0.5))
        if min(room.width(), room.height()) >= LEAST_GROUP:
            painter.setPen(QColor(self._theme.muted))
            inner, whole = room.adjusted(4, 0, -4, 0), f"{tile.name}  {format_bytes(tile.size_bytes)}"
            self._write(painter, inner, whole if _width(painter, whole) <= inner.width() else tile.name)

    def _paint_layer(self, painter: QPainter, tile: Tile, row: LayerRow) -> None:
        room, colour = _rect(tile.box), self._colour(row)
        matches = row.matches(self._filter)
        if not matches:
            colour.setAlphaF(FADED)
        painter.fillRect(room.adjusted(0.5, 0.5, -0.5, -0.5), colour)
        if room.width() >= LEAST_TEXT[0] and room.height() >= LEAST_TEXT[1]:
            painter.setPen(ink(self._theme, colour) if matches else QColor(self._theme.muted))
            self._write(painter, room.adjusted(5, 3, -3, 0), tile.name)
            size = format_bytes(row.peak_bytes)
            roomy = room.height() >= 2 * LEAST_TEXT[1] + 6 and room.width() >= _width(painter, size) + 8
            if roomy:
                self._write(painter, room.adjusted(5, 17, -3, 0), size)

    def _colour(self, row: LayerRow) -> QColor:
        most = max((each.peak_bytes for each in self._rows if each.path), default=0)
        return ramp(self._theme, row.peak_bytes / most) if row.path and most else QColor(self._theme.grid)

    def _write(self, painter: QPainter, room: QRectF, text: str) -> None:
        """All of it or nothing: a name that is cut in the middle names nothing."""
        if painter.fontMetrics().horizontalAdvance(text) <= room.width():
            painter.drawText(room, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop), text)

    # User input

    def mousePressEvent(self, event: QMouseEvent) -> None:
        tile = self.tile_at(event.position().x(), event.position().y())
        if tile is not None and tile.row is not None and event.button() is Qt.MouseButton.LeftButton:
            self.picked.emit("" if tile.row.path == self._layer else tile.row.path)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows go from the largest layer to the smallest, and back."""
        ways = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}
        layers = [tile.row for tile in self.tiles if tile.row and tile.row.path and tile.row.matches(self._filter)]
        layers.sort(key=lambda row: -row.peak_bytes)
        if event.key() not in ways or not layers:
            super().keyPressEvent(event)
            return
        paths = [row.path for row in layers]
        at = paths.index(self._layer) + ways[Qt.Key(event.key())] if self._layer in paths else 0
        self.picked.emit(paths[min(max(at, 0), len(paths) - 1)])

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            tile = self.tile_at(event.pos().x(), event.pos().y())
            if tile is None:
                QToolTip.hideText()
            elif tile.row is None:
                QToolTip.showText(event.globalPos(), f"{tile.name}: {format_bytes(tile.size_bytes)}", self)
            else:
                QToolTip.showText(event.globalPos(), describe(tile.row), self)
            return True
        return super().event(event)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._lay_out()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._lay_out()


def describe(row: LayerRow) -> str:
    if not row.path:
        return f"{NO_LAYER_MEANING}\n{format_bytes(row.peak_bytes)}, {percent(row.share)} of the peak"
    return (
        f"{row.path} ({row.class_name})\n{format_bytes(row.peak_bytes)}, {percent(row.share)} of the peak\n"
        f"activations {format_bytes(row.activation_bytes)}, weights {format_bytes(row.weights_bytes)}, "
        f"optimizer {format_bytes(row.optimizer_bytes)}; mostly {row.main_term}"
    )


def _rect(box: Box) -> QRectF:
    return QRectF(box.left, box.top, box.width, box.height)


def _width(painter: QPainter, text: str) -> int:
    return painter.fontMetrics().horizontalAdvance(text)
