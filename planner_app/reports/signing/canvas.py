"""A page of PDF, written by hand: text in Helvetica, lines, circles and filled boxes. Points from the top left.

Enough for one page that prints everywhere, without a library; text outside of Windows-1252 becomes a question mark.
"""

import zlib
from collections.abc import Sequence

A4 = (595.0, 842.0)
REGULAR, BOLD = "F1", "F2"
Colour = tuple[float, float, float]
BLACK: Colour = (0.11, 0.15, 0.2)
# Thousandths of the font size, from Adobe's metrics of Helvetica, for the characters from space to tilde.
_WIDTHS = {
    REGULAR: (
        278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556,
        556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667,
        556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556,
        556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722,
        500, 500, 500, 334, 260, 334, 584,
    ),
    BOLD: (
        278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556,
        556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722,
        611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556, 333, 556,
        611, 556, 611, 556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778,
        556, 556, 500, 389, 280, 389, 584,
    ),
}  # fmt: skip
_OTHER = 556  # the width of a character that is not in the table
_CIRCLE = 0.5523  # of the radius: where the handles of four curves lie that make a circle


def width(text: str, size: float, font: str = REGULAR) -> float:
    widths = _WIDTHS[font]
    return sum(widths[ord(c) - 32] if 32 <= ord(c) <= 126 else _OTHER for c in text) * size / 1000


def wrapped(text: str, size: float, room: float, font: str = REGULAR) -> list[str]:
    """Lines that are no longer than the room; a word that is longer is cut."""
    rows: list[str] = []
    for word in text.split():
        while width(word, size, font) > room:
            cut = max(n for n in range(1, len(word)) if n == 1 or width(word[:n], size, font) <= room)
            rows.append(word[:cut])
            word = word[cut:]
        longer = f"{rows[-1]} {word}" if rows else word
        if rows and width(longer, size, font) <= room:
            rows[-1] = longer
        else:
            rows.append(word)
    return rows


class Canvas:
    def __init__(self, title: str) -> None:
        self._title = title
        self._made: list[str] = []

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 9,
        *,
        font: str = REGULAR,
        colour: Colour = BLACK,
        anchor: str = "start",
    ) -> None:
        back = {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width(text, size, font)
        self._made.append(
            f"BT {_colour(colour)} rg /{font} {size:g} Tf {x - back:.2f} {A4[1] - y:.2f} Td ({_escaped(text)}) Tj ET"
        )

    def stroke(self, points: Sequence[tuple[float, float]], colour: Colour, thick: float = 0.5, dash: str = "") -> None:
        path = " ".join(f"{x:.2f} {A4[1] - y:.2f} {'l' if number else 'm'}" for number, (x, y) in enumerate(points))
        self._made.append(f"{_colour(colour)} RG {thick:g} w [{dash}] 0 d {path} S")

    def box(self, x: float, y: float, wide: float, high: float, colour: Colour) -> None:
        self._made.append(f"{_colour(colour)} rg {x:.2f} {A4[1] - y - high:.2f} {wide:.2f} {high:.2f} re f")

    def circle(self, x: float, y: float, radius: float, colour: Colour) -> None:
        r, k, y = radius, radius * _CIRCLE, A4[1] - y
        curves = (
            (x + r, y + k, x + k, y + r, x, y + r),
            (x - k, y + r, x - r, y + k, x - r, y),
            (x - r, y - k, x - k, y - r, x, y - r),
            (x + k, y - r, x + r, y - k, x + r, y),
        )
        path = " ".join(" ".join(f"{each:.2f}" for each in curve) + " c" for curve in curves)
        self._made.append(f"{_colour(colour)} rg {x + r:.2f} {y:.2f} m {path} f")

    def pdf(self) -> bytes:
        content = zlib.compress("\n".join(self._made).encode("cp1252", "replace"))
        fonts = " ".join(
            f"/{key} << /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"
            for key, name in ((REGULAR, "Helvetica"), (BOLD, "Helvetica-Bold"))
        )
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R /Lang (en) >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {A4[0]:g} {A4[1]:g}] /Contents 4 0 R "
            f"/Resources << /Font << {fonts} >> >> >>".encode(),
            f"<< /Length {len(content)} /Filter /FlateDecode >>\nstream\n".encode() + content + b"\nendstream",
            f"<< /Title ({_escaped(self._title)}) /Producer (plimsoll) >>".encode("cp1252", "replace"),
        ]
        out, places = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
        for number, body in enumerate(objects, 1):
            places.append(len(out))
            out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
        start = len(out)
        out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
        out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
        out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
        return bytes(out)


def _colour(colour: Colour) -> str:
    return " ".join(f"{part:.3g}" for part in colour)


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "()\\" else c if c.isprintable() else "?" for c in text)
