"""What a drawn widget must have in common with what it is meant to show; the picture is kept for people to look at."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QWidget

from planner_app.gui.look.theme import Theme

FOLDER = Path(__file__).parents[1] / "build" / "pictures"
CELL = 8  # pixels: regions of a picture are looked at in squares of this many
MOST_EMPTY = 0.97  # of all squares, those of one colour: more, and nothing has been drawn
LEAST_INK = 12  # pixels of a colour that is said to be seen


def keep_picture(widget: QWidget, name: str, theme: Theme, shows: Iterable[str] = ()) -> None:
    """Draw a widget into build/pictures and hold it against the theme.

    Args:
        shows: Colours that must be seen in it, beside the ground and the text: of lines, terms, verdicts.
    """
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    assert image.save(str(FOLDER / f"{name}.png"))
    check_picture(image, theme, shows)
    ratio = image.devicePixelRatio()
    assert (image.width(), image.height()) == (round(widget.width() * ratio), round(widget.height() * ratio))


def check_picture(image: QImage, theme: Theme, shows: Iterable[str] = ()) -> None:
    pixels = _pixels(image)
    colours, counts = np.unique(pixels, return_counts=True)
    ground = int(colours[counts.argmax()])
    shows = tuple(shows)
    grounds = {_number(each) for each in (theme.window, theme.surface, theme.raised, *shows)}
    assert ground in grounds, f"the ground is #{ground:06x}, none of the theme {theme.name}"
    amounts = dict(zip(colours.tolist(), counts.tolist(), strict=True))
    missing = [each for each in (theme.text, *shows) if amounts.get(_number(each), 0) < LEAST_INK]
    assert not missing, f"not seen in the picture: {missing}"
    assert _empty_share(pixels) < MOST_EMPTY, "next to nothing has been drawn"


def _pixels(image: QImage) -> np.ndarray:
    rows = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.bytesPerLine() // 4)
    return rows[:, : image.width()] & 0xFFFFFF


def _empty_share(pixels: np.ndarray) -> float:
    rows, columns = (size // CELL for size in pixels.shape)
    squares = pixels[: rows * CELL, : columns * CELL].reshape(rows, CELL, columns, CELL)
    same = (squares == squares[:, :1, :, :1]).all(axis=(1, 3))
    return float(same.mean())


def _number(colour: str) -> int:
    return QColor(colour).rgb() & 0xFFFFFF
