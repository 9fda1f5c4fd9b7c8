"""Draws where lines cross the chosen device's capacity: a dot for each, and its batch where there is room for it."""

from collections.abc import Callable, Iterable

import pyqtgraph as pg

from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.chart.drawn.items import Pool, Ring
from planner_app.gui.panels.chart.drawn.labels import (
    ABOVE,
    ABOVE_LEFT,
    ABOVE_RIGHT,
    BELOW_RIGHT,
    SECOND_ROW,
    SECOND_ROW_LEFT,
    SECOND_ROW_RIGHT,
    Room,
    Tag,
    Words,
    shaded,
)
from planner_app.gui.panels.chart.values import Series

DOT = 8.0
SIDES = (ABOVE, ABOVE_LEFT, ABOVE_RIGHT, BELOW_RIGHT, SECOND_ROW, SECOND_ROW_LEFT, SECOND_ROW_RIGHT)
OTHERS = (ABOVE, BELOW_RIGHT)  # lines that are not looked at give way
MOST_STRUCK = 2  # lines under the label of one that is not looked at


class Crossings:
    def __init__(self, plot: pg.PlotWidget) -> None:
        self._dots = Pool(plot, lambda: Ring(DOT), 22)
        self.tags = Pool(plot, Tag, 23)

    def draw(
        self,
        series: Iterable[Series],
        theme: Theme,
        room: Room,
        at: Callable[[int, float], tuple[float, float, float, float]],
        pointed_at: frozenset[object],
    ) -> None:
        """The chosen line's batch is always told, then those pointed at, then others that find room.

        Args:
            at: Of a batch and a height, the place on the view and in pixels.
        """
        self._dots.begin()
        self.tags.begin()
        for each in sorted(series, key=lambda each: (each.key not in pointed_at, not each.chosen)):
            largest = each.largest or 1
            x, y, right, down = at(largest, each.curve.at(largest // each.share)[0])
            colour = theme.precision(each.precisions[0])
            dot = self._dots.take()
            dot.setPos(x, y)
            dot.paint_as(colour, theme.surface, 1.0)
            looked_at = each.chosen or each.key in pointed_at
            tag = self.tags.take()
            words = [Words(each.largest_text, colour, bold=each.chosen)]
            tag.say(words, shaded(theme))
            sides, most = (SIDES, None) if looked_at else (OTHERS, MOST_STRUCK)
            box = room.find(right, down, tag.width, tag.height, sides, most)
            if box is None:
                self.tags.give_back()
            else:
                tag.say(words, shaded(theme) if box.top < down else theme.surface)
                tag.stand(x, y, box.left - right, box.top - down)
        self._dots.end()
        self.tags.end()
