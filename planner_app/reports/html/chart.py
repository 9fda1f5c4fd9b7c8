"""Memory over the batch as inline SVG: a line for each precision and GPU count, the device's capacity across."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2

from planner_app.foreign_text import for_html
from planner_app.reports.html.page import COLOURS

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 150, 14, 40
GIB = 1 << 30
ABOVE = 1.15  # room above the highest line or capacity
DASHES = ("", "7 4", "2 3", "9 3 2 3")  # one per GPU count
LABEL_GAP = 14


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    colour: int
    dash: str
    points: tuple[tuple[int, int, int, int], ...]  # batch, peak, low and high bytes


def chart(rows: Iterable[Mapping[str, object]]) -> str:
    """`rows` come from a sweep. The capacity of each device in them is drawn."""
    rows = list(rows)
    lines = _lines(rows)
    if not lines:
        return ""
    capacities = {str(row["device"]): row["capacity_bytes"] for row in rows if isinstance(row["capacity_bytes"], int)}
    batches = sorted({batch for line in lines for batch, *_ in line.points})
    top = max([high for line in lines for *_, high in line.points] + [_number(each) for each in capacities.values()])
    if capacities:  # leave out what lies far beyond every capacity
        top = min(top, 2 * max(_number(each) for each in capacities.values()))
    frame = _Frame(batches[0], batches[-1], top * ABOVE)
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Memory over the batch">']
    parts += frame.grid(batches)
    parts += [part for name, capacity in capacities.items() for part in frame.capacity(name, _number(capacity))]
    taken: list[float] = []
    for line in lines:
        parts += frame.line(line, taken)
    return "".join([*parts, "</svg>"])


def _lines(rows: list[Mapping[str, object]]) -> list[Line]:
    several = len({row["device"] for row in rows}) > 1
    precisions = list(dict.fromkeys(row["precision"] for row in rows))
    counts = list(dict.fromkeys(row["gpus"] for row in rows))
    found: dict[tuple[object, ...], list[tuple[int, int, int, int]]] = {}
    for row in rows:
        key = (row["device"], row["precision"], row["gpus"])
        figures = (_number(row[name]) for name in ("batch", "peak_bytes", "low_bytes", "high_bytes"))
        found.setdefault(key, []).append(tuple(figures))  # type: ignore[arg-type]  # four of them
    lines = []
    for (device, precision, gpus), points in found.items():
        name = f"{precision}, {gpus} GPU{'s' if gpus != 1 else ''}" + (f", {device}" if several else "")
        dash = DASHES[counts.index(gpus) % len(DASHES)]
        lines.append(Line(name, precisions.index(precision) % len(COLOURS), dash, tuple(sorted(points))))
    return lines


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


class _Frame:
    """Batches across in powers of two, gibibytes up."""

    def __init__(self, least: int, most: int, top_bytes: float) -> None:
        self._low, self._high, self._top = log2(max(least, 1)), log2(max(most, 2 * max(least, 1))), max(top_bytes, 1.0)

    def x(self, batch: int) -> float:
        return LEFT + (log2(max(batch, 1)) - self._low) / (self._high - self._low) * (WIDTH - LEFT - RIGHT)

    def y(self, size: float) -> float:
        return HEIGHT - BOTTOM - min(size / self._top, 1.0) * (HEIGHT - TOP - BOTTOM)

    def grid(self, batches: list[int]) -> list[str]:
        parts = []
        for batch in batches[:: max(1, len(batches) // 10)]:
            x = self.x(batch)
            parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>')
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{batch:,}</text>')
        for size in self._ticks():
            y = self.y(size)
            parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{LEFT - 7}" y="{y + 4:.1f}" text-anchor="end">{_size(size)}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">global batch</text>')
        return parts

    def _ticks(self) -> list[float]:
        step = 1.0
        while self._top / step > 6:
            step *= 2
        while self._top / step < 3:
            step /= 2
        return [number * step for number in range(int(self._top / step) + 1)]

    def capacity(self, name: str, size: int) -> list[str]:
        y = self.y(size)
        return [
            f'<line class="capacity" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>',
            f'<text class="bad" x="{LEFT + 4}" y="{y - 4:.1f}">{for_html(name)}: {_size(size)}</text>',
        ]

    def line(self, line: Line, taken: list[float]) -> list[str]:
        colour = f"var(--line{line.colour},{COLOURS[line.colour]})"
        inside = [point for point in line.points if point[1] <= self._top] or list(line.points[:1])
        peak = " ".join(f"{self.x(batch):.1f},{self.y(size):.1f}" for batch, size, _, _ in inside)
        band = [f"{self.x(batch):.1f},{self.y(low):.1f}" for batch, _, low, _ in inside]
        band += [f"{self.x(batch):.1f},{self.y(high):.1f}" for batch, _, _, high in reversed(inside)]
        last_batch, last_size = inside[-1][:2]
        y = self.y(last_size)
        while any(abs(y - other) < LABEL_GAP for other in taken):
            y += LABEL_GAP
        taken.append(y)
        dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
        end = self.x(last_batch)
        return [
            f'<polygon points="{" ".join(band)}" fill="{colour}" opacity="0.14"/>',
            f'<polyline points="{peak}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>',
            f'<circle cx="{end:.1f}" cy="{self.y(last_size):.1f}" r="2.5" fill="{colour}"/>',
            f'<text x="{end + 7:.1f}" y="{y + 4:.1f}" style="fill:{colour}">{for_html(line.name)}</text>',
        ]


def _size(size: float) -> str:
    """Short, to fit beside the axis."""
    for unit, name in ((GIB, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f}"
