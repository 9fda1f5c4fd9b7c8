"""The batch axis: logarithmic in powers of two, or linear."""

import math

import pyqtgraph as pg

LEAST_ROOM, LETTER, GAP = 56, 8, 16  # pixels: of a tick, of a digit in it, and between two of them


class BatchAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
    """View coordinates are log2 of the batch while `log` is on."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.log = True
        self.enableAutoSIPrefix(False)

    def place(self, batch: float) -> float:
        return math.log2(max(batch, 1e-9)) if self.log else float(batch)

    def batch(self, place: float) -> float:
        return 2.0 ** min(place, 40.0) if self.log else place

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        if not self.log:
            return list(super().tickValues(low, high, size))
        first, last = math.ceil(max(low, 0.0)), math.floor(high)
        room = max(LEAST_ROOM, LETTER * len(f"{2 ** max(last, 0):,}") + GAP)
        every = max(1, math.ceil((last - first + 1) * room / max(size, 1)))
        return [(float(every), [float(power) for power in range(first, last + 1) if power % every == 0])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if not self.log:
            return [f"{value:,.0f}" if value == round(value) else "" for value in values]
        return [f"{2 ** round(value):,}" for value in values]
