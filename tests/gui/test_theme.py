import itertools

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from planner_app.core.estimate.breakdown import Term
from planner_app.core.model.setup import Precision
from planner_app.gui.look.theme import DARK, LIGHT, Theme, palette_of


def brightness(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((brightness(one), brightness(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_that_every_precision_and_every_term_has_a_colour_of_its_own(theme: Theme):
    assert len({theme.precision(precision) for precision in Precision}) == len(Precision)
    assert len({theme.term(term) for term in Term}) == len(Term)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_that_texts_can_be_read_and_lines_be_seen(theme: Theme):
    for ground in (theme.window, theme.surface, theme.raised):
        for text in (theme.text, theme.muted, theme.good, theme.bad, theme.warn):
            assert contrast(text, ground) >= 4.5 if text == theme.text else contrast(text, ground) >= 3.9, (
                text,
                ground,
            )
    for line in theme.precisions:
        assert contrast(line, theme.surface) >= 2.9, line


# What people with no cones of one kind see of linear red, green and blue: Machado, Oliveira, Fernandes (2009).
EYES = {
    "all cones": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
TOLD_APART = 12.0  # distance in CIELAB; 2.3 is just noticeable side by side


def seen(colour: str, eye: np.ndarray) -> np.ndarray:
    """In CIELAB, where equal distances look equal."""
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    share = TO_XYZ @ np.clip(eye @ linear, 0, 1) / WHITE
    curve = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * curve[1] - 16, 500 * (curve[0] - curve[1]), 200 * (curve[1] - curve[2])])


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_that_a_palette_leaves_no_colour_to_the_desktop_s(qapp: QApplication, theme: Theme):
    palette = palette_of(theme)
    role = palette.ColorRole
    told = {
        role.Window: theme.window,
        role.Base: theme.surface,
        role.AlternateBase: theme.raised,
        role.Text: theme.text,
        role.Highlight: theme.accent,
        role.HighlightedText: theme.on_accent,
    }
    for each, colour in told.items():
        assert palette.isBrushSet(palette.ColorGroup.Active, each) and palette.color(each).name() == colour.lower()


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_that_every_eye_tells_lines_and_verdicts_apart(theme: Theme, eye: str):
    for group in (theme.precisions, (theme.good, theme.warn, theme.bad)):
        for one, other in itertools.combinations(group, 2):
            distance = np.linalg.norm(seen(one, EYES[eye]) - seen(other, EYES[eye]))
            assert distance >= TOLD_APART, (one, other, distance)
