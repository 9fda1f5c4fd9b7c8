"""Draws the capacities: a line for each device, a label for each group of them, and what does not fit as shade."""

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import Qt

from planner_app.gui.look.plain_label import plain_tip
from planner_app.gui.look.plot.pens import faint, pen
from planner_app.gui.look.theme import Theme
from planner_app.gui.panels.chart.drawn.capacity import Capacity, Group, groups
from planner_app.gui.panels.chart.drawn.items import Pool, Shade, add
from planner_app.gui.panels.chart.drawn.labels import SHADE, Box, Room, Tag, Words, shaded

NEAR = 17.0  # pixels: lines that are closer share a label
LETTER = 7.0  # pixels, about
LABEL_SHARE = 0.55  # of the plot's width: longer labels count what they leave out
EDGE = 6.0  # pixels from the axis to a label


class Levels:
    def __init__(self, plot: pg.PlotWidget) -> None:
        self._plot = plot
        self._lines = Pool(plot, lambda: pg.InfiniteLine(angle=0), 2)
        self._sold = Pool(plot, lambda: pg.InfiniteLine(angle=0), 2)
        self.tags = Pool(plot, Tag, 28)
        self._over = Shade()
        add(plot, self._over, -2)

    def draw_lines(self, capacities: Sequence[Capacity], theme: Theme) -> None:
        self._lines.begin()
        self._sold.begin()
        for each in sorted(capacities, key=lambda capacity: capacity.chosen):
            colour = theme.bad if each.chosen else theme.muted
            line = self._lines.take()
            line.setValue(each.limit_gib)
            width = 2.0 if each.chosen else 1.0
            line.setPen(pen(colour if each.chosen else faint(colour, 0.6), width, on=self._plot))
            line.setZValue(3 if each.chosen else 2)
            line.setToolTip(plain_tip(each.why))
            if each.chosen and each.sold_gib is not None:  # of all devices it would be twice as many lines
                sold = self._sold.take()
                sold.setValue(each.sold_gib)
                sold.setPen(pen(faint(colour, 0.4), 1.0, Qt.PenStyle.DotLine, on=self._plot))
                sold.setToolTip(plain_tip(each.why))
        self._lines.end()
        self._sold.end()

    def draw_shade(self, capacities: Sequence[Capacity], theme: Theme) -> None:
        chosen = next((capacity for capacity in capacities if capacity.chosen), None)
        self._over.setVisible(chosen is not None)
        if chosen is not None:
            self._over.setBrush(faint(theme.bad, SHADE))
            self._over.above(chosen.limit_gib, self._plot)

    def draw_labels(self, capacities: Sequence[Capacity], theme: Theme, room: Room) -> None:
        """At the left end of the lines, above the highest of each group; behind the marker if that is there."""
        (left, _), (bottom, top) = self._plot.getViewBox().viewRange()
        pixels = room.area.height / max(top - bottom, 1e-9)
        limit = next((each.limit_gib for each in capacities if each.chosen), top)
        self.tags.begin()
        for group in groups(capacities, NEAR / pixels):
            tag = self.tags.take()
            words = _words(group, theme, int(room.area.width * LABEL_SHARE / LETTER))
            tag.say(words, shaded(theme) if group.top_gib >= limit else theme.surface)
            tag.setToolTip(plain_tip(group.why))
            above = (top - group.top_gib) * pixels  # of the plot, over the line
            down = -tag.height - 1.0 if above > tag.height + 1.0 else 1.0
            box = room.beside(Box(EDGE, above + down, tag.width, tag.height))
            tag.stand(left, group.top_gib, box.left, down)
            tag.setVisible(bottom <= group.top_gib <= top and box.right <= room.area.right)
            if tag.isVisible():
                room.taken.append(box)
        self.tags.end()


def _words(group: Group, theme: Theme, most: int) -> list[Words]:
    chosen = group.chosen
    first = [Words(f"{chosen.name}: {chosen.limit_gib:.1f} GiB", theme.bad, bold=True)] if chosen else []
    rest = group.names(most - len(first[0].text) if first else most)
    return [*first, *(Words(text, theme.muted) for text in rest)]
