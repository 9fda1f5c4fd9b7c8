"""Draws the graph of layers. A click on a block unfolds it, one on a layer chooses it."""

from collections import Counter

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QToolTip, QWidget

from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.look.plot.ramp import ink, ramp
from planner_app.gui.look.table.bars import percent
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.layers.graph import Graph, Node
from planner_app.gui.panels.layers.treemap import describe
from planner_app.units import format_bytes

NODE, GAP = 22, 12  # pixels: height of a node, and between two ranks
MARGIN, BETWEEN = 8, 8
WIDEST = 250
SIDE = 14  # pixels: how far a long edge swings out
FADED = 0.25  # opacity of what the filter excludes


class GraphCanvas(QWidget):
    picked = Signal(str)  # a layer
    fold_toggled = Signal(str)  # of a block

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self.graph = theme, Graph()
        self._filter, self._layer = "", ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Graph of layers, folded by block; darker takes more memory")

    def show_graph(self, graph: Graph) -> None:
        self.graph = graph
        self._wide = Counter(node.rank for node in graph.nodes)
        self.setFixedHeight(self.sizeHint().height())
        self.update()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def set_filter(self, text: str) -> None:
        self._filter = text
        self.update()

    def select(self, layer: str) -> Node | None:
        """Returns the node that shows the layer."""
        self._layer = layer
        self.update()
        return next((node for node in self.graph.nodes if node.has(layer)), None)

    def sizeHint(self) -> QSize:
        ranks = 1 + max((node.rank for node in self.graph.nodes), default=-1)
        return QSize(200, 2 * MARGIN + max(ranks * (NODE + GAP) - GAP, 0))

    def box(self, node: Node) -> QRectF:
        many = self._wide[node.rank]
        room = self.width() - 2 * (MARGIN + SIDE)
        width = min((room - (many - 1) * BETWEEN) / many, WIDEST)
        left = (self.width() - many * width - (many - 1) * BETWEEN) / 2
        return QRectF(left + node.column * (width + BETWEEN), MARGIN + node.rank * (NODE + GAP), width, NODE)

    def node_at(self, at: QPointF) -> Node | None:
        return next((node for node in self.graph.nodes if self.box(node).contains(at)), None)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(event.rect(), QColor(self._theme.surface))
        seen = QRectF(event.rect()).adjusted(0, -NODE, 0, NODE)
        boxes = {node.key: (node, self.box(node)) for node in self.graph.nodes}
        painter.setPen(QPen(QColor(self._theme.muted), 1.2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        for start, end in self.graph.edges:
            (one, above), (other, below) = boxes[start], boxes[end]
            if above.top() <= seen.bottom() and below.bottom() >= seen.top():
                painter.drawPath(_way(above, below, other.rank - one.rank))
        for node, box in boxes.values():
            if box.intersects(seen):
                self._paint_node(painter, node, box)

    def _paint_node(self, painter: QPainter, node: Node, box: QRectF) -> None:
        most = self.graph.most_bytes
        colour = ramp(self._theme, node.peak_bytes / most if most else 0.0)
        painter.setOpacity(1.0 if node.matches(self._filter) else FADED)
        chosen = node.has(self._layer)
        edge = QPen(QColor(self._theme.text if chosen else self._theme.muted), 2.2 if chosen else 0.8)
        painter.setPen(edge)
        painter.setBrush(colour)
        painter.drawRoundedRect(box, 4, 4)
        painter.setPen(ink(self._theme, colour))
        mark = "▸ " if node.folded else "    " if node.block else ""
        size = format_bytes(node.peak_bytes) if node.peak_bytes else ""
        metrics = painter.fontMetrics()
        room = box.adjusted(7, 0, -7, 0)
        beside = metrics.horizontalAdvance(size) + 10 if size else 0
        name = f"{mark}{node.name}"
        if metrics.horizontalAdvance(name) + beside > room.width():
            size, beside = "", 0
        shown = metrics.elidedText(name, Qt.TextElideMode.ElideRight, int(room.width() - beside))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(room, int(Qt.AlignmentFlag.AlignLeft | middle), shown)
        painter.drawText(room, int(Qt.AlignmentFlag.AlignRight | middle), size)
        painter.setOpacity(1.0)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        node = self.node_at(event.position())
        if event.button() is not Qt.MouseButton.LeftButton or node is None:
            return
        if node.folded:
            self.fold_toggled.emit(node.block)
        else:
            self.picked.emit("" if node.has(self._layer) else node.layers[0].path)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """On a layer: fold its block again."""
        node = self.node_at(event.position())
        if node is not None and not node.folded and node.block:
            self.fold_toggled.emit(node.block)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and down go from layer to layer, Enter folds and unfolds a block."""
        ways = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}
        nodes = [node for node in self.graph.nodes if node.matches(self._filter)]
        at = next((number for number, node in enumerate(nodes) if node.has(self._layer)), None)
        if event.key() in ways and nodes:
            step = 0 if at is None else min(max(at + ways[Qt.Key(event.key())], 0), len(nodes) - 1)
            self.picked.emit(nodes[step].layers[0].path)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and at is not None and nodes[at].block:
            self.fold_toggled.emit(nodes[at].block)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            node = self.node_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), plain_tip(_tip(node)), self) if node else QToolTip.hideText()
            return True
        return super().event(event)


class GraphView(QScrollArea):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.canvas = GraphCanvas(theme)
        self.setWidget(self.canvas)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMinimumWidth(180)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusProxy(self.canvas)

    def select(self, layer: str) -> None:
        node = self.canvas.select(layer)
        if node is not None:
            middle = self.canvas.box(node).center().toPoint()
            self.ensureVisible(middle.x(), middle.y(), 0, NODE + GAP)


def _way(above: QRectF, below: QRectF, ranks: int) -> QPainterPath:
    """Straight down to the next rank; further, around the nodes in between."""
    start, end = QPointF(above.center().x(), above.bottom()), QPointF(below.center().x(), below.top())
    path = QPainterPath(start)
    if ranks <= 1:
        bend = (end.y() - start.y()) / 2
        path.cubicTo(QPointF(start.x(), start.y() + bend), QPointF(end.x(), end.y() - bend), end)
    else:
        start, end = QPointF(above.right(), above.center().y()), QPointF(below.right(), below.center().y())
        aside = max(above.right(), below.right()) + SIDE
        path = QPainterPath(start)
        path.cubicTo(QPointF(aside, start.y()), QPointF(aside, start.y()), QPointF(aside, start.y() + NODE / 2))
        path.lineTo(aside, end.y() - NODE / 2)
        path.cubicTo(QPointF(aside, end.y()), QPointF(aside, end.y()), end)
    return path


def _tip(node: Node) -> str:
    if not node.folded:
        return describe(node.layers[0])
    share = sum(layer.share for layer in node.layers)
    first, last = node.layers[0].path, node.layers[-1].path
    return (
        f"{node.name}: {len(node.layers)} layers, {first} to {last}\n"
        f"{format_bytes(node.peak_bytes)}, {percent(share)} of the peak. Click to unfold."
    )
