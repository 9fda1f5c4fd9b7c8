"""Memory as colour: from the ground to one strong hue. Lightness tells it, so every eye and every printer sees it."""

from PySide6.QtGui import QColor

from planner_app.gui.look.theme import Theme

LEAST, MOST = 0.07, 0.92  # shares of the accent over the surface
LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue, ITU-R BT.601


def ramp(theme: Theme, share: float) -> QColor:
    """0 is nothing, 1 the most there is. Small shares are told apart better than large ones."""
    return mixed(theme.surface, theme.accent, LEAST + (MOST - LEAST) * max(0.0, min(share, 1.0)) ** 0.7)


def mixed(ground: str, over: str, share: float) -> QColor:
    low, high = QColor(ground), QColor(over)
    pairs = ((low.redF(), high.redF()), (low.greenF(), high.greenF()), (low.blueF(), high.blueF()))
    return QColor.fromRgbF(*(a + (b - a) * share for a, b in pairs))


def ink(theme: Theme, ground: QColor) -> QColor:
    """The one of the theme's two extreme colours that is readable on a ground."""
    inks = (QColor(theme.text), QColor(theme.surface))
    return max(inks, key=lambda each: abs(_luminance(each) - _luminance(ground)))


def _luminance(colour: QColor) -> float:
    parts = (colour.redF(), colour.greenF(), colour.blueF())
    return sum(part * weight for part, weight in zip(parts, LUMINANCE, strict=True))
