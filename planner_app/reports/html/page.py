"""The style of all answers: colours follow the surrounding page in Jupyter, Colab and VS Code, light or dark."""

from collections.abc import Iterable, Sequence

from planner_app.core.estimate.verdict import Verdict
from planner_app.foreign_text import for_html
from planner_app.units import format_bytes

COLOURS = ("#0072b2", "#c24000", "#8e2270", "#ab9300", "#00a05a", "#44189b")  # as the app's lines
DARK_COLOURS = ("#56b4e9", "#ea7535", "#e39aac", "#d9dc3c", "#3fe09a", "#8f86ff")
VERDICTS = {Verdict.FITS: "good", Verdict.TIGHT: "warn", Verdict.DOES_NOT_FIT: "bad"}

_LIGHT = "--good:#1a7f4b;--warn:#a86400;--bad:#c0332b;--grid:#d5dbe1;--muted:#5d6875;" + "".join(
    f"--line{number}:{colour};" for number, colour in enumerate(COLOURS)
)
_DARK = "--good:#4cc38a;--warn:#f0b14a;--bad:#f2766e;--grid:#414b56;--muted:#9aa5b1;" + "".join(
    f"--line{number}:{colour};" for number, colour in enumerate(DARK_COLOURS)
)
# Each notebook marks its dark theme differently; without a mark the system's preference applies.
_DARK_PAGES = (
    'body[data-jp-theme-light="false"] .plimsoll',
    "body.vscode-dark .plimsoll",
    "html[theme=dark] .plimsoll",
    "html[data-theme=dark] .plimsoll",
)
STYLE = (
    f".plimsoll{{{_LIGHT}font:14px/1.45 system-ui,sans-serif;max-width:760px}}"
    f"@media(prefers-color-scheme:dark){{:root:not([data-theme=light]) .plimsoll{{{_DARK}}}}}"
    f'body[data-jp-theme-light="true"] .plimsoll,body.vscode-light .plimsoll{{{_LIGHT}}}'
    f"{','.join(_DARK_PAGES)}{{{_DARK}}}"
    ".plimsoll .answer{font-size:1.35em;font-weight:600;margin:.1em 0}"
    ".plimsoll .good{color:var(--good)}.plimsoll .warn{color:var(--warn)}.plimsoll .bad{color:var(--bad)}"
    ".plimsoll .muted{color:var(--muted)}.plimsoll p{margin:.25em 0}"
    ".plimsoll table{border-collapse:collapse;margin:.6em 0;font-variant-numeric:tabular-nums}"
    ".plimsoll th,.plimsoll td{padding:.15em .8em .15em 0;text-align:right;border:0;background:none;color:inherit}"
    ".plimsoll th{font-weight:600;border-bottom:1px solid var(--grid)}"
    ".plimsoll td{white-space:nowrap}.plimsoll td.text{white-space:normal}"
    ".plimsoll th.text,.plimsoll td.text{text-align:left}"
    ".plimsoll .bar{display:inline-block;height:.7em;background:var(--line0);border-radius:2px}"
    ".plimsoll code{font-size:.92em;background:none;color:inherit}"
    ".plimsoll svg{width:100%;height:auto;display:block}"
    ".plimsoll svg text{fill:currentColor;font:11px system-ui,sans-serif}"
    ".plimsoll svg .grid{stroke:var(--grid);stroke-width:1}"
    ".plimsoll svg .capacity{stroke:var(--bad);stroke-width:1.5;stroke-dasharray:5 3}"
)


def piece(*parts: str) -> str:
    return f'<div class="plimsoll"><style>{STYLE}</style>{"".join(parts)}</div>'


def answer(text: str, verdict: Verdict | None = None) -> str:
    kind = "" if verdict is None else f" {VERDICTS[verdict]}"
    return f'<p class="answer{kind}">{for_html(text)}</p>'


def line(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{for_html(text)}</p>' if kind else f"<p>{for_html(text)}</p>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Cells are HTML already; the first columns hold words, the others numbers."""
    kinds = ["text" if number < text_columns else "" for number in range(len(header))]
    head = "".join(f'<th class="{kind}">{for_html(name)}</th>' for name, kind in zip(header, kinds, strict=True))
    body = "".join(
        "<tr>" + "".join(f'<td class="{kind}">{cell}</td>' for cell, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cell(name: str, value: object) -> str:
    """A value as people read it, by the name of its column."""
    if value is None:
        return "-"
    if name.endswith("_bytes") and isinstance(value, int):
        return format_bytes(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    if name == "verdict":
        kind = VERDICTS[Verdict(str(value))]
        return f'<span class="{kind}">{for_html(str(value))}</span>'
    return for_html(str(value))
