"""The page as PDF, on one sheet of A4."""

from collections.abc import Sequence

from planner_app.reports.signing.canvas import A4, BLACK, BOLD, REGULAR, Canvas, Colour, width, wrapped
from planner_app.reports.signing.drawing import HEIGHT, WIDTH, Dot, Label, Shape, Stroke
from planner_app.reports.signing.page import HEADINGS, Page

MARGIN, INNER = 42.0, 8.0
ROOM = A4[0] - 2 * MARGIN
DIM: Colour = (0.29, 0.35, 0.4)
GREEN: Colour = (0.04, 0.43, 0.31)
RED: Colour = (0.7, 0.15, 0.12)
TINT: Colour = (0.92, 0.96, 0.94)
LINE: Colour = (0.6, 0.65, 0.7)
STYLES: dict[str, Colour] = {
    "grid": (0.9, 0.92, 0.93),
    "dot": (0.7, 0.75, 0.8),
    "chosen": GREEN,
    "other": (0.18, 0.44, 0.69),
    "rent": (0.18, 0.44, 0.69),
    "buy": GREEN,
    "mark": RED,
    "lead": (0.52, 0.58, 0.63),
}
SIGNED = A4[1] - 48.0  # where the line to sign on lies


def pdf_page(page: Page) -> bytes:
    return _Sheet(page).drawn()


class _Sheet:
    """Draws from the top; lists are cut where the room ends, and say so."""

    def __init__(self, page: Page) -> None:
        self._page, self._canvas, self._y = page, Canvas(page.title), MARGIN + 6

    def drawn(self) -> bytes:
        page = self._page
        self._write(page.title, 15, font=BOLD)
        self._write(page.made, 8, colour=DIM)
        for line in page.question:
            self._write(f"{line}.", 9)
        self._answer()
        self._table()
        self._charts()
        risks = (*page.risks, *page.legend)
        for title, lines in (("What has changed", page.changes), ("Risks", risks), ("Sources", page.sources)):
            self._listed(title, lines)
        self._signature()
        return self._canvas.pdf()

    def _write(
        self, text: str, size: float, *, font: str = REGULAR, colour: Colour = BLACK, indent: float = 0.0
    ) -> None:
        for row in wrapped(text, size, ROOM - indent, font):
            self._y += size * 1.32
            self._canvas.text(MARGIN + indent, self._y, row, size, font=font, colour=colour)

    def _answer(self) -> None:
        page, top = self._page, self._y + 8
        colour = GREEN if page.rows else RED
        self._y = top + 4
        self._write(page.answer, 11, font=BOLD, indent=INNER)
        for line in page.grounds:
            self._write(f"{line}.", 8, colour=DIM, indent=INNER)
        bottom = self._y + 7
        right = MARGIN + ROOM
        self._canvas.stroke(((MARGIN, top), (right, top), (right, bottom), (MARGIN, bottom), (MARGIN, top)), colour)
        self._canvas.box(MARGIN, top, 3, bottom - top, colour)
        self._y = bottom + 2

    def _table(self) -> None:
        rows = self._page.rows
        if not rows:
            return
        self._heading("The answer and alternatives")
        size = 8.0
        widths = [max(width(cell, size, BOLD) for cell in column) for column in zip(HEADINGS, *rows, strict=True)]
        spare = (ROOM - sum(widths)) / len(widths)
        if spare < 4:
            size *= ROOM / (sum(widths) + 4 * len(widths))
            widths = [each * size / 8 for each in widths]
            spare = (ROOM - sum(widths)) / len(widths)
        self._row(HEADINGS, widths, spare, size, BOLD, DIM)
        self._canvas.stroke(((MARGIN, self._y + 3), (MARGIN + ROOM, self._y + 3)), LINE)
        self._y += 3
        for number, row in enumerate(rows):
            if number == 0:
                self._canvas.box(MARGIN, self._y + 1, ROOM, size * 1.6, TINT)
            self._row(row, widths, spare, size, BOLD if number == 0 else REGULAR)

    def _row(
        self,
        cells: Sequence[str],
        widths: Sequence[float],
        spare: float,
        size: float,
        font: str,
        colour: Colour = BLACK,
    ) -> None:
        self._y += size * 1.55
        right = MARGIN
        for number, (cell, wide) in enumerate(zip(cells, widths, strict=True)):
            right += wide + spare
            x, anchor = (MARGIN + 3, "start") if number == 0 else (right - 3, "end")
            self._canvas.text(x, self._y, cell, size, font=font, anchor=anchor, colour=colour)

    def _charts(self) -> None:
        drawn = [
            (title, shapes)
            for title, shapes in (("Cost and time", self._page.tradeoff), ("Cost over time", self._page.over_time))
            if shapes
        ]
        if not drawn:
            return
        top = self._y + 18
        for number, (title, shapes) in enumerate(drawn):
            left = MARGIN + number * (ROOM - WIDTH)
            self._canvas.text(left, top, title, 9.5, font=BOLD)
            for shape in shapes:
                self._draw(shape, left, top + 5)
        self._y = top + 5 + HEIGHT

    def _draw(self, shape: Shape, left: float, top: float) -> None:
        canvas = self._canvas
        if isinstance(shape, Stroke):
            thick = 0.5 if shape.style in ("grid", "mark", "lead") else 1.3
            dash = "3 2" if shape.style == "mark" else ""
            canvas.stroke([(left + x, top + y) for x, y in shape.points], STYLES[shape.style], thick, dash)
        elif isinstance(shape, Dot):
            canvas.circle(left + shape.x, top + shape.y, shape.radius, STYLES[shape.style])
        else:
            self._label(shape, left, top)

    def _label(self, label: Label, left: float, top: float) -> None:
        font = BOLD if label.style == "title" else REGULAR
        self._canvas.text(left + label.x, top + label.y, label.text, 6.6, font=font, colour=DIM, anchor=label.anchor)

    def _heading(self, title: str) -> None:
        self._y += 6
        self._write(title, 9.5, font=BOLD)

    def _listed(self, title: str, lines: Sequence[str]) -> None:
        if not lines or self._y > SIGNED - 50:
            return
        self._heading(title)
        for number, line in enumerate(lines):
            rows = wrapped(f"{line}.", 7.6, ROOM - INNER)
            if self._y + 10 * len(rows) > SIGNED - 34:
                self._write(f"and {len(lines) - number} more, in the HTML report", 7.6, colour=DIM, indent=INNER)
                return
            self._canvas.text(MARGIN, self._y + 10, "-", 7.6, colour=DIM)
            self._write(f"{line}.", 7.6, colour=DIM, indent=INNER)

    def _signature(self) -> None:
        third = ROOM / 3
        for number, word in enumerate(("approved", "name", "date")):
            left = MARGIN + number * third
            self._canvas.stroke(((left, SIGNED), (left + third - 16, SIGNED)), LINE)
            self._canvas.text(left, SIGNED + 10, word, 7.6, colour=DIM)
