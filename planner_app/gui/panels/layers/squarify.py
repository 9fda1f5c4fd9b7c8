"""Lays out a treemap: rectangles with areas proportional to sizes, as square as possible.

Rows of rectangles are laid along the shorter side of what is left, each as long as that makes its rectangles squarer
(Bruls, Huizing, van Wijk: Squarified Treemaps, 2000).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planner_app.gui.panels.layers.values import LayerRow

HEADER = 15.0  # pixels for a group's name
MARGIN = 2.0  # around what is in a group
LEAST_GROUP = 34.0  # pixels: a smaller group gets no name


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    width: float
    height: float

    def contains(self, x: float, y: float) -> bool:
        return self.left <= x < self.left + self.width and self.top <= y < self.top + self.height


@dataclass(frozen=True, slots=True)
class Tile:
    """A layer, or a block or nested model around others: then `row` is None."""

    name: str
    box: Box
    depth: int
    row: LayerRow | None
    size_bytes: int


def squarify(sizes: Sequence[float], box: Box) -> list[Box]:
    """A box for each size, in order: largest first looks best. Sizes must be positive."""
    scale = box.width * box.height / total if (total := sum(sizes)) else 0.0
    areas = [size * scale for size in sizes]
    found: list[Box] = []
    while len(found) < len(areas):
        row = _next_row(areas, len(found), min(box.width, box.height))
        found += _row(row, box)
        box = _rest(box, sum(row))
    return found


def tiles(rows: Sequence[LayerRow], box: Box) -> list[Tile]:
    """All layers that use memory, inside their blocks and nested models; outer ones come first."""
    root = _Group("", [], {})
    for row in rows:
        if row.peak_bytes > 0:
            group = root
            for name in _around(row):
                group = group.groups.setdefault(name, _Group(name, [], {}))
            group.rows.append(row)
    return list(_laid_out(root, box, 0))


def _around(row: LayerRow) -> list[str]:
    """The names of the models it is nested in, and of its block."""
    *outer, _ = row.path.split("/")
    block = row.block.rpartition("/")[2]
    return [*outer, block] if block and not (outer and row.block.endswith(outer[-1])) else outer


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    rows: list[LayerRow]
    groups: dict[str, "_Group"]

    @property
    def size_bytes(self) -> int:
        return sum(row.peak_bytes for row in self.rows) + sum(group.size_bytes for group in self.groups.values())


def _laid_out(group: _Group, box: Box, depth: int) -> Iterator[Tile]:
    parts: list[LayerRow | _Group] = [*group.rows, *group.groups.values()]
    parts.sort(key=lambda part: -_size(part))
    boxes = squarify([_size(part) for part in parts], box) if box.width > 0 and box.height > 0 else []
    for part, place in zip(parts, boxes, strict=False):
        if isinstance(part, LayerRow):
            yield Tile(part.short.rpartition("/")[2], place, depth, part, part.peak_bytes)
        else:
            yield Tile(part.name, place, depth, None, part.size_bytes)
            yield from _laid_out(part, inside(place), depth + 1)


def inside(box: Box) -> Box:
    """The space of a group for its layers, without a margin and, if there is room, its name."""
    header = HEADER if min(box.width, box.height) >= LEAST_GROUP else MARGIN
    width, height = box.width - 2 * MARGIN, box.height - header - MARGIN
    if width <= 0 or height <= 0:
        return box
    return Box(box.left + MARGIN, box.top + header, width, height)


def _size(part: LayerRow | _Group) -> int:
    return part.peak_bytes if isinstance(part, LayerRow) else part.size_bytes


def _next_row(areas: Sequence[float], first: int, side: float) -> Sequence[float]:
    """As many as improve the worst aspect ratio of the row."""
    smallest = largest = total = areas[first]
    worst = _longest(smallest, largest, total, side)
    last = first + 1
    while last < len(areas):
        area = areas[last]
        smallest, largest, total = min(smallest, area), max(largest, area), total + area
        now = _longest(smallest, largest, total, side)
        if now > worst:
            break
        worst, last = now, last + 1
    return areas[first:last]


def _longest(smallest: float, largest: float, total: float, side: float) -> float:
    """The worst aspect ratio of a row's rectangles, in either direction."""
    thick = total / side if side else 0.0
    if not thick or not smallest:
        return float("inf")
    return max(thick * thick / smallest, largest / (thick * thick))


def _row(areas: Sequence[float], box: Box) -> Iterator[Box]:
    upright = box.width >= box.height  # a row stands on the shorter side
    side = box.height if upright else box.width
    thick = sum(areas) / side if side else 0.0
    at = 0.0
    for area in areas:
        long = area / thick if thick else 0.0
        if upright:
            yield Box(box.left, box.top + at, thick, long)
        else:
            yield Box(box.left + at, box.top, long, thick)
        at += long


def _rest(box: Box, area: float) -> Box:
    if box.width >= box.height:
        thick = area / box.height if box.height else 0.0
        return Box(box.left + thick, box.top, max(box.width - thick, 0.0), box.height)
    thick = area / box.width if box.width else 0.0
    return Box(box.left, box.top + thick, box.width, max(box.height - thick, 0.0))
