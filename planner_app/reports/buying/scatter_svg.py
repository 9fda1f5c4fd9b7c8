"""A scatter plot of price and speed as SVG: both axes logarithmic, the Pareto front as a line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from planner_app.foreign_text import for_html

WIDTH, HEIGHT = 680, 220
LEFT, RIGHT, TOP, BOTTOM = 62, 18, 14, 42
LABEL_GAP = 13  # labels closer than this would overlap
LETTER = 5.6  # the width of one letter of a label
SUBTICKS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    label: str
    front: bool = False


def scatter(dots: Sequence[Dot], x_title: str, y_title: str, x_format: Callable[[float], str]) -> str:
    """All figures must be positive."""
    if not dots:
        return ""
    across = _Axis([dot.x for dot in dots], LEFT, WIDTH - RIGHT)
    up = _Axis([dot.y for dot in dots], HEIGHT - BOTTOM, TOP)
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{for_html(f"{y_title} by {x_title}")}">']
    for tick in across.ticks:
        x = across.at(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{x_format(tick)}</text>')
    for tick in up.ticks:
        y = up.at(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y + 3.5:.1f}" text-anchor="end">{_plain(tick)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle" class="title">{for_html(x_title)}</text>')
    turned = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(
        f'<text transform="translate(13 {turned}) rotate(-90)" text-anchor="middle" class="title">'
        f"{for_html(y_title)}</text>"
    )
    parts += [
        f'<circle class="dot" cx="{across.at(dot.x):.1f}" cy="{up.at(dot.y):.1f}" r="2.2"/>'
        for dot in dots
        if not dot.front
    ]
    best = sorted((dot for dot in dots if dot.front), key=lambda dot: (dot.x, dot.y))
    line = " ".join(f"{across.at(dot.x):.1f},{up.at(dot.y):.1f}" for dot in best)
    parts.append(f'<polyline class="front" points="{line}"/>')
    taken: list[tuple[float, float, float]] = []
    for dot in best:
        x, y = across.at(dot.x), up.at(dot.y)
        parts.append(f'<circle class="best" cx="{x:.1f}" cy="{y:.1f}" r="3.6"/>')
        length = len(dot.label) * LETTER
        start, anchor = (x - 7 - length, "end") if x - 7 - length > LEFT else (x + 7, "start")
        if all(abs(y - other) > LABEL_GAP or start > right or start + length < left for left, right, other in taken):
            taken.append((start, start + length, y))
            # Beside the line, which goes up: to the left above it, to the right below it.
            side, row = (x - 7, y - 4) if anchor == "end" else (x + 7, y + 11)
            parts.append(f'<text x="{side:.1f}" y="{row:.1f}" text-anchor="{anchor}">{for_html(dot.label)}</text>')
    return "\n".join([*parts, "</svg>"])


def _plain(figure: float) -> str:
    """Short, to fit beside the axis: 0.5, 200, 20k, 5M."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if figure >= unit:
            return f"{figure / unit:g}{letter}"
    return f"{figure:g}"


class _Axis:
    """A logarithmic axis in powers of ten that covers the given figures."""

    def __init__(self, figures: Sequence[float], start: float, end: float) -> None:
        low, high = log10(min(figures)), log10(max(figures))
        room = max((high - low) * 0.06, 0.08)
        self._low, self._high, self._start, self._end = low - room, high + room, start, end

    def at(self, figure: float) -> float:
        return self._start + (log10(figure) - self._low) / (self._high - self._low) * (self._end - self._start)

    @property
    def ticks(self) -> list[float]:
        powers = range(floor(self._low), ceil(self._high) + 1)
        steps = SUBTICKS if self._high - self._low < 2.5 else SUBTICKS[:1]
        found = [step * 10.0**power for power in powers for step in steps]
        return [tick for tick in found if self._low <= log10(tick) <= self._high]
