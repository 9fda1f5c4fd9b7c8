"""The page as one HTML file, made to be printed."""

from collections.abc import Sequence

from planner_app.foreign_text import for_html
from planner_app.reports.signing.drawing import HEIGHT, WIDTH, Dot, Label, Shape, Stroke
from planner_app.reports.signing.page import HEADINGS, Page

# Without it a phone draws the page as wide as a desktop's.
PHONES = '<meta name="viewport" content="width=device-width, initial-scale=1">'
STYLE = """
@page { size: A4; margin: 11mm 14mm; }
:root { color-scheme: light dark; --page: #fff; --text: #1b2733; --dim: #4a5866; --faint: #5c6b7a; --line: #9aa7b4;
  --grid: #e6eaee; --green: #0b6e4f; --tint: #eaf5f0; --blue: #2f6fb0; --red: #b3261e; --dot: #b4c0cb;
  --lead: #8593a0; }
@media screen and (prefers-color-scheme: dark) { :root { --page: #15191e; --text: #e4e9ee; --dim: #b3bec9;
  --faint: #97a4b1; --line: #5f6c79; --grid: #2b333b; --green: #4cc38a; --tint: #17302a; --blue: #6ea8e5;
  --red: #f2695f; --dot: #566270; --lead: #77848f; } }
* { box-sizing: border-box; }
body { font: 13px/1.42 system-ui, "Helvetica Neue", Arial, sans-serif; color: var(--text); background: var(--page);
  max-width: 780px; margin: 24px auto; padding: 0 20px; overflow-wrap: anywhere; }
h1 { font-size: 21px; margin: 0; } h2 { font-size: 13.5px; margin: 15px 0 4px; }
p { margin: 2px 0; } .dim, li { color: var(--dim); } li, .dim { font-size: 11.5px; }
ul { margin: 2px 0; padding-left: 17px; }
.answer { border: 1px solid var(--green); border-left-width: 5px; padding: 8px 12px; margin: 10px 0; }
.answer b { font-size: 15px; } .none { border-color: var(--red); }
table { border-collapse: collapse; width: 100%; font-size: 11.5px; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--faint); border-bottom: 1px solid var(--line); }
th, td { padding: 3px 6px; white-space: nowrap; } td { text-align: right; border-bottom: 1px solid var(--grid); }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 8em; }
.wide { overflow-x: auto; } tr.chosen td { background: var(--tint); }
.charts { display: flex; gap: 14px; } .charts figure { flex: 1; margin: 0; min-width: 0; }
@media screen and (max-width: 560px) { .charts { flex-direction: column; } }
svg { width: 100%; height: auto; display: block; }
svg text { font: 7px system-ui, Arial, sans-serif; fill: var(--dim); }
svg .title { font-weight: 600; } svg .grid { stroke: var(--grid); stroke-width: .6; } svg .dot { fill: var(--dot); }
svg .chosen { fill: var(--green); } svg .other { fill: var(--blue); } svg polyline { fill: none; stroke-width: 1.4; }
svg polyline.lead { stroke: var(--lead); stroke-width: .5; }
svg .rent { stroke: var(--blue); } svg .buy { stroke: var(--green); }
svg .mark { stroke: var(--red); stroke-dasharray: 3 2; }
.sign { display: flex; gap: 24px; margin-top: 34px; }
.sign span { flex: 1; border-top: 1px solid var(--dim); padding-top: 3px; color: var(--faint); font-size: 11px; }
@media print { :root { color-scheme: light; } body { margin: 0; padding: 0; max-width: none; font-size: 11.5px; }
  h1 { font-size: 17px; } h2 { font-size: 12px; margin: 9px 0 3px; } .answer { margin: 7px 0; padding: 6px 10px; }
  .answer b { font-size: 13px; }
  li, .dim, table { font-size: 10px; } .sign { margin-top: 26px; }
  .answer, tr.chosen td { print-color-adjust: exact; } }
"""


def html_page(page: Page) -> str:
    body = [
        f"<h1>{for_html(page.title)}</h1>",
        f'<p class="dim">{for_html(page.made)}</p>',
        *(f"<p>{for_html(line)}.</p>" for line in page.question),
        _answer(page),
        _table(page.rows),
        _charts(page),
        _listed("What has changed", page.changes),
        _listed("Risks", (*page.risks, *page.legend)),
        _listed("Sources", page.sources),
        '<div class="sign"><span>approved</span><span>name</span><span>date</span></div>',
    ]
    head = f'<meta charset="utf-8">{PHONES}<title>{for_html(page.title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body></html>\n"


def _answer(page: Page) -> str:
    grounds = "".join(f'<p class="dim">{for_html(line)}.</p>' for line in page.grounds)
    style = "answer" if page.rows else "answer none"
    return f'<div class="{style}"><p><b>{for_html(page.answer)}</b></p>{grounds}</div>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{for_html(title)}</th>" for title in HEADINGS)
    lines = []
    for number, row in enumerate(rows):
        style = "" if number else ' class="chosen"'
        lines.append(f"<tr{style}>" + "".join(f"<td>{for_html(cell)}</td>" for cell in row) + "</tr>")
    return f'<h2>The answer and alternatives</h2><div class="wide"><table><tr>{head}</tr>{"".join(lines)}</table></div>'


def _charts(page: Page) -> str:
    drawn = [
        f"<figure><h2>{title}</h2>{svg(shapes, title)}</figure>"
        for title, shapes in (("Cost and time", page.tradeoff), ("Cost over time", page.over_time))
        if shapes
    ]
    return f'<div class="charts">{"".join(drawn)}</div>' if drawn else ""


def _listed(title: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    return f"<h2>{title}</h2><ul>" + "".join(f"<li>{for_html(line)}.</li>" for line in lines) + "</ul>"


def svg(shapes: Sequence[Shape], title: str) -> str:
    parts = [f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{for_html(title)}">']
    for shape in shapes:
        if isinstance(shape, Stroke):
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
            parts.append(f'<polyline class="{shape.style}" points="{points}"/>')
        elif isinstance(shape, Dot):
            parts.append(f'<circle class="{shape.style}" cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{shape.radius:g}"/>')
        else:
            parts.append(_label(shape))
    return "\n".join([*parts, "</svg>"])


def _label(label: Label) -> str:
    place = f'x="{label.x:.1f}" y="{label.y:.1f}" text-anchor="{label.anchor}"'
    return f'<text class="{label.style}" {place}>{for_html(label.text)}</text>'
