"""Everything the app knows about a model on one page: a file that needs nothing else to be read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner_app.foreign_text import for_html
from planner_app.reports.html.page import STYLE, cell, table

OPEN_ROWS = 12  # a longer table is folded


@dataclass(frozen=True, slots=True)
class Section:
    """Attributes:
    figure: An SVG document; "" for none.
    html: More of ours, already markup.
    """

    title: str
    figure: str = ""
    html: str = ""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()


_LAYOUT = (
    "body{margin:0;background:#fff;color:#17202a}"
    ".plimsoll.whole{max-width:1040px;margin:0 auto;padding:28px 24px 60px}"
    ".plimsoll.whole h1{font-size:1.6em;margin:0 0 .1em}.plimsoll.whole h2{font-size:1.15em;margin:2em 0 .4em}"
    ".plimsoll.whole figure{margin:0;border:1px solid #d5dbe1;border-radius:6px;overflow:hidden}"
    ".plimsoll.whole figure svg{width:100%;height:auto;display:block}"
    ".plimsoll.whole figure svg text{fill:revert-layer;font:revert-layer}"
    ".plimsoll.whole summary{cursor:pointer;color:#5d6875}.plimsoll.whole .wide{overflow-x:auto}"
    "@media print{.plimsoll.whole h2{break-after:avoid}.plimsoll.whole figure{break-inside:avoid}}"
)


def whole_page(title: str, facts: Iterable[str], sections: Iterable[Section]) -> str:
    """Light everywhere: its figures are."""
    said = "".join(f'<p class="muted">{for_html(fact)}</p>' for fact in facts)
    parts = "".join(_section(each) for each in sections)
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
        f"<title>{for_html(title)}</title><style>{STYLE}{_LAYOUT}</style></head>"
        f'<body><main class="plimsoll whole"><h1>{for_html(title)}</h1>{said}{parts}</main></body></html>\n'
    )


def _section(section: Section) -> str:
    figure = f"<figure>{_inline(section.figure)}</figure>" if section.figure else ""
    return f"<section><h2>{for_html(section.title)}</h2>{section.html}{figure}{_rows(section)}</section>"


def _inline(svg: str) -> str:
    """As an image, so that the styles and names of one figure can't reach another."""
    from base64 import b64encode  # only for files that are saved

    data = b64encode(svg.encode()).decode()
    return f'<img alt="" style="width:100%;display:block" src="data:image/svg+xml;base64,{data}">'


def _rows(section: Section) -> str:
    if not section.rows:
        return ""
    names = [name.replace("_", " ").removesuffix(" bytes") for name in section.header]
    cells = [[_cell(name, value) for name, value in zip(section.header, row, strict=False)] for row in section.rows]
    shown = f'<div class="wide">{table(names, cells)}</div>'
    if len(section.rows) <= OPEN_ROWS:
        return shown
    return f"<details><summary>{len(section.rows)} rows of numbers</summary>{shown}</details>"


def _cell(name: str, value: object) -> str:
    return for_html(value) if isinstance(value, str) else cell(name, value)
