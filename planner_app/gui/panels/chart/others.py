"""Other layouts and open models on the same chart: thin grey lines, named where they meet the capacity or the edge."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt

from planner_app.core.estimate.need import Need
from planner_app.gui.look.plot.pens import pen
from planner_app.gui.look.short import short
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.chart.curve import GIB, Curve, curve_of
from planner_app.gui.panels.chart.drawn.items import Pool
from planner_app.gui.panels.chart.drawn.labels import ABOVE, ABOVE_LEFT, ABOVE_RIGHT, BELOW_RIGHT, Room, Tag, Words

SIDES = (BELOW_RIGHT, ABOVE_RIGHT, ABOVE_LEFT, ABOVE)
DOWN_THE_LINE = (1.0, 0.8, 0.6, 0.4, 0.2)  # of the batch where a line would be named, if there is no room
MOST_LETTERS = 28  # of a name
WITHOUT_LIMIT = 32  # where a line is named that no capacity ends


@dataclass(frozen=True, slots=True)
class Other:
    """Attributes:
    largest: Its largest global batch on the chosen device; None without a limit.
    """

    name: str
    share: int
    curve: Curve
    largest: int | None

    @property
    def text(self) -> str:
        name = short(self.name, MOST_LETTERS)
        return name if self.largest is None else f"{name}: {self.largest:,}"


def others_of(needs: Iterable[tuple[str, Need, int]]) -> tuple[Other, ...]:
    found = []
    for name, need, share in needs:
        curve, limit = curve_of(need), need.capacity_bytes
        largest = None if limit is None else curve.largest_within(limit / GIB) * share
        found.append(Other(name, share, curve, largest))
    return tuple(found)


class OtherLines:
    def __init__(self, plot: pg.PlotWidget) -> None:
        self._plot = plot
        self.curves = Pool(plot, lambda: pg.PlotCurveItem(antialias=True), 4)
        self.tags = Pool(plot, Tag, 21)

    def draw_lines(
        self,
        others: Iterable[Other],
        theme: Theme,
        path: Callable[[Other, tuple[float, ...]], tuple[np.ndarray, np.ndarray]],
    ) -> None:
        self.curves.begin()
        for other in others:
            curve = self.curves.take()
            curve.setData(*path(other, other.curve.peak_gib))
            curve.setPen(pen(theme.muted, 1.4, Qt.PenStyle.DashDotLine, on=self._plot))
        self.curves.end()

    def draw_names(
        self,
        others: Iterable[Other],
        theme: Theme,
        room: Room,
        at: Callable[[int, float], tuple[float, float, float, float]],
        last: int,
    ) -> None:
        """At the capacity, at the edge (the batch `last`) if that is beyond it, or further down the line."""
        self.tags.begin()
        for other in others:
            batch = min(other.largest or WITHOUT_LIMIT * other.share, last)
            tag = self.tags.take()
            tag.say([Words(other.text, theme.muted)], theme.surface)
            for lower in DOWN_THE_LINE:
                here = max(1, int(batch * lower))
                x, y, right, down = at(here, other.curve.at(max(1, here // other.share))[0])
                if box := room.find(right, down, tag.width, tag.height, SIDES):
                    tag.stand(x, y, box.left - right, box.top - down)
                    break
            else:
                self.tags.give_back()
        self.tags.end()
