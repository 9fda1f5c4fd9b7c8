import pytest

from planner_app.core.estimate.breakdown import Term
from planner_app.core.model.setup import Precision
from planner_app.gui.look.theme import DARK, LIGHT, Theme


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
