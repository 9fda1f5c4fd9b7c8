"""Charts as plain shapes in points, the origin at the top left, so that SVG and PDF draw the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

WIDTH, HEIGHT = 255.0, 150.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 10.0, 12.0, 28.0
LETTER = 3.7  # the usual width of a letter of a label
ROOM_BELOW = 0.7  # of the lowest dot: room for its name, as that is often the answer
ROW = 9.0  # labels closer than this overlap


@dataclass(frozen=True, slots=True)
class Stroke:
    points: tuple[tuple[float, float], ...]
    style: str = "grid"


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    style: str = "dot"
    radius: float = 2.2


@dataclass(frozen=True, slots=True)
class Label:
    x: float
    y: float
    text: str
    anchor: str = "start"
    style: str = "text"


Shape = Stroke | Dot | Label


@dataclass(frozen=True, slots=True)
class Mark:
    """A dot with a name. Of two whose names would overlap, the first is named; one with a style of its own always."""

    x: float
    y: float
    name: str
    style: str = "dot"


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    points: tuple[tuple[float, float], ...]
    style: str


class Axis:
    """From data to the page; logarithmic if asked to."""

    def __init__(self, figures: Sequence[float], start: float, end: float, *, log: bool) -> None:
        self._log = log and min(figures) > 0
        low, high = (log10(min(figures)), log10(max(figures))) if self._log else (0.0, max(figures) or 1.0)
        room = max((high - low) * 0.08, 0.1 if self._log else 0.0)
        self._low, self._high = (low - room, high + room) if self._log else (0.0, high * 1.06)
        self._start, self._end = start, end

    def at(self, figure: float) -> float:
        value = log10(figure) if self._log else figure
        return self._start + (value - self._low) / (self._high - self._low) * (self._end - self._start)

    @property
    def ticks(self) -> list[float]:
        if not self._log:
            step = 10.0 ** floor(log10(self._high / 2))
            step *= next((each for each in (1, 2, 5) if self._high / (step * each) <= 5), 10)
            return [step * number for number in range(ceil(self._high / step)) if step * number <= self._high]
        powers = range(floor(self._low), ceil(self._high) + 1)
        found = [each * 10.0**power for power in powers for each in (1, 2, 5)]
        inside = [tick for tick in found if self._low <= log10(tick) <= self._high]
        return inside if len(inside) <= 6 else inside[:: ceil(len(inside) / 6)]


Format = Callable[[float], str]


def _frame(
    across: Axis, up: Axis, titles: tuple[str, str], formats: tuple[Format, Format], top: float = TOP
) -> list[Shape]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    shapes: list[Shape] = []
    for tick in across.ticks:
        x = across.at(tick)
        shapes += [Stroke(((x, top), (x, bottom))), Label(x, bottom + 10, formats[0](tick), "middle")]
    for tick in up.ticks:
        y = up.at(tick)
        shapes += [Stroke(((LEFT, y), (right, y))), Label(LEFT - 4, y + 2.5, formats[1](tick), "end")]
    shapes.append(Label((LEFT + right) / 2, HEIGHT - 5, titles[0], "middle", "title"))
    shapes.append(Label(2, 7, titles[1], "start", "title"))
    return shapes


def scatter(marks: Sequence[Mark], titles: tuple[str, str], formats: tuple[Format, Format]) -> list[Shape]:
    """Both axes logarithmic."""
    if len(marks) < 2:
        return []
    across = Axis([mark.x for mark in marks], LEFT, WIDTH - RIGHT, log=True)
    cheapest = min(mark.y for mark in marks)
    up = Axis([mark.y for mark in marks] + [ROOM_BELOW * cheapest], HEIGHT - BOTTOM, TOP, log=True)
    shapes = _frame(across, up, titles, formats)
    taken: list[tuple[float, float, float]] = []
    dots = [(across.at(mark.x) - 2, across.at(mark.x) + 2, up.at(mark.y)) for mark in marks]
    for mark in reversed(marks):
        shapes.append(Dot(across.at(mark.x), up.at(mark.y), mark.style, 3.4 if mark.style == "chosen" else 1.8))
    for mark in marks:
        if mark.name and (place := _place(mark, across.at(mark.x), up.at(mark.y), taken, dots)) is not None:
            left, row = place
            right = left + len(mark.name) * LETTER
            taken.append((left, right, row))
            x, y = across.at(mark.x), up.at(mark.y)
            if abs(row - y) > 1.5 * ROW:  # too far to be seen as the dot's
                edge = row + (ROW / 2 if row < y else -ROW / 2)
                shapes.append(Stroke(((x, y), (min(max(x, left), right), edge)), "lead"))
            shapes.append(Label(left, row + 2.5, mark.name, "start", "name"))
    return shapes


Stretch = tuple[float, float, float]  # of a row: from, to, and how far down


def _place(
    mark: Mark, x: float, y: float, taken: Sequence[Stretch], dots: Sequence[Stretch]
) -> tuple[float, float] | None:
    """Where a name goes: beside its dot, or above or below; over other dots only if it must be shown."""
    length = len(mark.name) * LETTER
    near = [(x + 5, y), (x - 5 - length, y)]
    for away in (8.0, 16.0, 24.0, 32.0, 40.0):
        near += [(left, row) for row in (y - away, y + away) for left in (x - length / 2, x + 2, x - 2 - length)]
    inside = [
        (left, row)
        for left, row in near
        if left > LEFT and left + length < WIDTH - RIGHT / 2 and TOP < row < HEIGHT - BOTTOM
    ]
    few = (near[0], near[1], near[2], near[5])  # right, left, just above, just below
    free = [place for place in inside if _free(place, length, (*taken, *dots))]
    if mark.style == "dot":
        return next((place for place in free if place in few), None)
    return next(iter(free or [place for place in inside if _free(place, length, taken)]), None)


def _free(place: tuple[float, float], length: float, others: Sequence[Stretch]) -> bool:
    return all(_apart((place[0], place[0] + length, place[1]), other) for other in others)


def _apart(one: Stretch, other: Stretch) -> bool:
    """Whether two stretches of a row, from left to right, do not overlap."""
    return abs(one[2] - other[2]) > ROW - 3 or one[0] > other[1] or one[1] < other[0]


def lines(
    series: Sequence[Series],
    titles: tuple[str, str],
    formats: tuple[Format, Format],
    at: float | None = None,
    planned: float | None = None,
) -> list[Shape]:
    """Straight ones, from zero on both axes, named above. On the first axis two cross `at` one place, and another is
    `planned`."""
    points = [point for each in series for point in each.points]
    if not points:
        return []
    top, bottom = TOP + ROW * len(series), HEIGHT - BOTTOM
    across = Axis([x for x, _ in points], LEFT, WIDTH - RIGHT, log=False)
    up = Axis([y for _, y in points], bottom, top, log=False)
    shapes = _frame(across, up, titles, formats, top)
    for row, each in enumerate(series):
        shapes.append(Stroke(tuple((across.at(x), up.at(y)) for x, y in each.points), each.style))
        y = TOP + ROW * row + 2
        shapes.append(Stroke(((LEFT, y), (LEFT + 12, y)), each.style))
        shapes.append(Label(LEFT + 16, y + 2.5, each.name, "start", "name"))
    if planned is not None:
        x = across.at(planned)
        beyond = x > (LEFT + WIDTH - RIGHT) / 2
        shapes.append(Stroke(((x, top), (x, bottom)), "lead"))
        shapes.append(
            Label(x - 3 if beyond else x + 3, top + 6, f"{planned:,.0f} planned", "end" if beyond else "start")
        )
    if at is not None and across.at(at) <= WIDTH - RIGHT:
        x, crossing = across.at(at), up.at(_at(series[0], at))
        shapes.append(Stroke(((x, crossing), (x, bottom)), "mark"))
        shapes.append(Label(x + 3, bottom - 4, f"{at:,.0f} {titles[0]}", "start", "name"))
    return shapes


def _at(series: Series, x: float) -> float:
    (first, low), (last, high) = series.points[0], series.points[-1]
    return low + (high - low) * (x - first) / ((last - first) or 1.0)
