"""Pens for plots. The zoom must not widen them, so they count pixels, and on sharp screens more of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen
from PySide6.QtWidgets import QWidget

SOLID = Qt.PenStyle.SolidLine
_paper: ContextVar[float] = ContextVar("paper", default=0.0)


def pen(colour: QColor | str, width: float, style: Qt.PenStyle = SOLID, *, on: QWidget) -> QPen:
    """As wide on every screen that `on` is on, and on paper."""
    ratio = _paper.get() or on.devicePixelRatioF()
    made = QPen(QColor(colour), width * ratio, style)
    made.setCosmetic(True)
    return made


@contextmanager
def at_scale(ratio: float) -> Iterator[None]:
    """Figures made meanwhile are drawn on paper, with so many units of the device to a point."""
    before = _paper.set(ratio)
    try:
        yield
    finally:
        _paper.reset(before)


def on_paper() -> bool:
    """Marks are then drawn as lines, since their pictures are made for a screen."""
    return _paper.get() > 0


def faint(colour: QColor | str, share: float) -> QColor:
    made = QColor(colour)
    made.setAlphaF(share)
    return made
