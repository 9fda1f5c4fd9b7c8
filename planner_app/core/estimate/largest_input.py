"""The largest input that still fits. Each size needs its own trace, so few are tried: memory over the size is a smooth
curve."""

from collections.abc import Callable
from dataclasses import dataclass

from planner_app.core.model.grow import Growth

MOST_TRIES = 12
FURTHEST = 64  # times the current size: larger ones are not tried


@dataclass(frozen=True, slots=True)
class Tried:
    """What a size needs; `None` with a reason if the model can't be built with it."""

    size: int
    need_bytes: int | None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest size that fits; 0 if none does.

    Attributes:
        why_no_more: Why there is no larger one, if not because of memory.
    """

    size: int
    need_bytes: int
    tried: tuple[Tried, ...]
    why_no_more: str = ""


def largest_size(need: Callable[[int], Tried], growth: Growth, limit_bytes: int) -> Largest:
    """Brackets the size with leaps that assume memory grows with its square, then narrows the bracket."""
    tried: dict[int, Tried] = {}

    def fits(size: int) -> bool:
        if size not in tried:
            tried[size] = need(size)
        found = tried[size].need_bytes
        return found is not None and found <= limit_bytes

    below, above = _bracket(fits, tried, growth, limit_bytes)
    while above is not None and below and above - below > growth.step and len(tried) < MOST_TRIES:
        middle = _between(tried[below], tried[above], limit_bytes, growth.step)
        if fits(middle):
            below = middle
        else:
            above = middle
    end = tried.get(above) if above is not None else None
    why = "nothing larger was tried" if above is None else end.why_not if end and end.need_bytes is None else ""
    needed = tried[below].need_bytes if below else min((t.need_bytes or limit_bytes for t in tried.values()), default=0)
    return Largest(below, needed or 0, tuple(sorted(tried.values(), key=lambda each: each.size)), why)


def _bracket(
    fits: Callable[[int], bool], tried: dict[int, Tried], growth: Growth, limit_bytes: int
) -> tuple[int, int | None]:
    """The largest size known to fit (0: none), and the smallest known not to (None: all fit)."""
    size, step = growth.now, growth.step
    if fits(size):
        while True:
            if size >= growth.now * FURTHEST or len(tried) >= MOST_TRIES:
                return size, None
            leap = min((limit_bytes / max(tried[size].need_bytes or 1, 1)) ** 0.5, 8.0)
            further = max(_on(int(size * leap), step) + step, size + step)
            if not fits(further):
                return size, further
            size = further
    while size > step and len(tried) < MOST_TRIES:
        known = tried[size].need_bytes
        leap = 0.5 if known is None else max((limit_bytes / known) ** 0.5, 0.125)
        nearer = max(min(_on(int(size * leap), step), size - step), step)
        if fits(nearer):
            return nearer, size
        size = nearer
    return 0, size


def _between(below: Tried, above: Tried, limit_bytes: int, step: int) -> int:
    """Where the curve through both ends, in the square of the size, meets the limit."""
    if below.need_bytes is None or above.need_bytes is None or above.need_bytes <= below.need_bytes:
        middle = (below.size + above.size) // 2
    else:
        share = (limit_bytes - below.need_bytes) / (above.need_bytes - below.need_bytes)
        middle = int((below.size**2 + share * (above.size**2 - below.size**2)) ** 0.5)
    return min(max(_on(middle, step), _on(below.size, step) + step), _on(above.size - 1, step))


def _on(size: int, step: int) -> int:
    return size // step * step
