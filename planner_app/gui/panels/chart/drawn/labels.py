"""Labels on the chart: where there is room for them, and how they are painted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QApplication, QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from planner_app.gui.look.theme import Theme

PAD = 3.0  # pixels around a text
SHADE = 0.07  # opacity of what does not fit
GAP = 3.0  # pixels between two labels
COLUMN = 6  # pixels between two places of `Strokes`
BACK = 0.75  # opacity of the ground, so that lines behind a text don't strike it out


@dataclass(frozen=True, slots=True)
class Box:
    """Pixels, from the upper left corner of the plot."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def overlaps(self, other: "Box", gap: float = 0.0) -> bool:
        beside = self.right + gap <= other.left or other.right + gap <= self.left
        return not beside and not (self.bottom + gap <= other.top or other.bottom + gap <= self.top)

    def within(self, other: "Box") -> bool:
        inside = other.left <= self.left and self.right <= other.right
        return inside and other.top <= self.top and self.bottom <= other.bottom


# Where a label may stand beside its point: shares of its width and height, and pixels, from the point to its corner.
ABOVE = (-0.5, -1.0, 0.0, -6.0)
ABOVE_LEFT = (-1.0, -1.0, -6.0, -4.0)
ABOVE_RIGHT = (0.0, -1.0, 6.0, -4.0)
BELOW_RIGHT = (0.0, 0.0, 8.0, 4.0)
SECOND_ROW = (-0.5, -2.0, 0.0, -10.0)
SECOND_ROW_LEFT = (-1.0, -2.0, -6.0, -8.0)
SECOND_ROW_RIGHT = (0.0, -2.0, 6.0, -8.0)
Side = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Strokes:
    """How far down the chart's lines run, in pixels: a row for each line, a column for every few pixels across."""

    heights: np.ndarray

    @classmethod
    def of(cls, lines: Iterable[tuple[np.ndarray, np.ndarray]], width: float) -> "Strokes":
        across = np.arange(0.0, max(width, 0.0) + COLUMN, COLUMN)
        rows = [np.interp(across, xs, ys, left=np.nan, right=np.nan) for xs, ys in lines if len(xs)]
        return cls(np.array(rows).reshape(len(rows), len(across)))

    def under(self, box: Box) -> int:
        """How many lines run through it."""
        first, last = int(box.left // COLUMN), int(box.right // COLUMN) + 2
        there = self.heights[:, max(first, 0) : max(last, 0)]
        if not there.size:
            return 0
        highest, lowest = np.fmin.reduce(there, axis=1), np.fmax.reduce(there, axis=1)
        return int(np.count_nonzero((highest <= box.bottom) & (lowest >= box.top)))


@dataclass(slots=True)
class Room:
    """The plot's area and the labels that stand in it. No two of them ever overlap.

    Attributes:
        points: Marks of the chart, which labels leave free.
        strokes: Lines of the chart, which labels leave free where they can.
    """

    area: Box
    taken: list[Box] = field(default_factory=list)
    points: list[Box] = field(default_factory=list)
    strokes: Strokes | None = None

    def find(
        self, x: float, y: float, width: float, height: float, sides: Iterable[Side], most: int | None = None
    ) -> Box | None:
        """The free place beside a point that strikes out the fewest lines, at most `most`; it is then taken."""
        boxes = (
            Box(x + across * width + right, y + down * height + below, width, height)
            for across, down, right, below in sides
        )
        best, fewest = None, 0
        for box in filter(self._is_free, boxes):
            struck = self.strokes.under(box) if self.strokes is not None else 0
            if (most is None or struck <= most) and (best is None or struck < fewest):
                best, fewest = box, struck
            if struck == 0:
                break
        if best is not None:
            self.taken.append(best)
        return best

    def beside(self, box: Box) -> Box:
        """As far to the right as it takes to be free of other labels."""
        for other in sorted(self.taken, key=lambda each: each.left):
            if box.overlaps(other, GAP):
                box = replace(box, left=other.right + GAP)
        return box

    def _is_free(self, box: Box) -> bool:
        if not box.within(self.area) or any(box.overlaps(other, GAP) for other in self.taken):
            return False
        return not any(box.overlaps(point) for point in self.points)


@dataclass(frozen=True, slots=True)
class Words:
    """One part of a label. With a ground it is a pill."""

    text: str
    colour: str
    bold: bool = False


class Tag(QGraphicsItem):
    """A text of a few colours whose size in pixels does not depend on the zoom."""

    def __init__(self) -> None:
        super().__init__()
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemIgnoresTransformations)
        self._words: tuple[Words, ...] = ()
        self._ground = ""
        self._solid = False
        self._offset = QPointF()
        self.width = self.height = 0.0

    def say(self, words: Sequence[Words], ground: str, *, solid: bool = False) -> None:
        shown = tuple(words)
        if (ground, solid) != (self._ground, self._solid):
            self._ground, self._solid = ground, solid
            self.update()
        if shown == self._words:
            return
        self.prepareGeometryChange()
        self._words = shown
        advances = [QFontMetricsF(_font(each.bold)).horizontalAdvance(each.text) for each in shown]
        self.width = sum(advances) + 2 * PAD + 8.0 * max(len(shown) - 1, 0) + (6.0 if solid else 0.0)
        self.height = QFontMetricsF(_font(False)).height() + (2.0 if solid else 0.0)
        self.update()

    @property
    def text(self) -> str:
        return "  ".join(each.text for each in self._words)

    def stand(self, x: float, y: float, right: float, below: float) -> None:
        """At a point of the view, its upper left corner so many pixels away from it."""
        offset = QPointF(right, below)
        if offset != self._offset:
            self.prepareGeometryChange()
            self._offset = offset
        self.setPos(x, y)

    def boundingRect(self) -> QRectF:
        return QRectF(self._offset.x(), self._offset.y(), self.width, self.height)

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None) -> None:
        rect = self.boundingRect()
        ground = QColor(self._ground)
        ground.setAlphaF(1.0 if self._solid else BACK)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        painter.drawRoundedRect(rect, 4, 4)
        at = rect.left() + PAD + (3.0 if self._solid else 0.0)
        for each in self._words:
            font = _font(each.bold)
            painter.setFont(font)
            painter.setPen(QColor(each.colour))
            advance = QFontMetricsF(font).horizontalAdvance(each.text)
            place = QRectF(at, rect.top(), advance + 1, rect.height())
            painter.drawText(place, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), each.text)
            at += advance + 8.0


def shaded(theme: Theme) -> str:
    """The ground of labels in the area that does not fit."""
    under, over = QColor(theme.surface), QColor(theme.bad)
    pairs = ((under.redF(), over.redF()), (under.greenF(), over.greenF()), (under.blueF(), over.blueF()))
    return QColor.fromRgbF(*(low + (high - low) * SHADE for low, high in pairs)).name()


def _font(bold: bool) -> QFont:
    font = QFont(QApplication.font())
    font.setBold(bold)
    return font
