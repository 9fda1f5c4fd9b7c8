"""Rich text for panels that show sentences. All input is text, never markup."""

from collections.abc import Iterable, Sequence

from PySide6.QtGui import QFontDatabase, QPalette
from PySide6.QtWidgets import QFrame, QLabel, QTextBrowser

from planner_app.foreign_text import for_html
from planner_app.gui.look.theme import Theme

GAP = 6  # pixels between paragraphs


class Paper(QTextBrowser):
    """Text that can be scrolled, selected and copied; it has no links."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setOpenLinks(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.document().setDocumentMargin(8)
        self._shown = ""

    def show_text(self, html: str) -> None:
        """Keeps the scroll position if the text is unchanged."""
        if html != self._shown:
            self._shown = html
            self.setHtml(html)


def paragraph(text: str, colour: str = "", *, bold: bool = False, gap: int = GAP) -> str:
    return f'<p style="margin:0 0 {gap}px 0;{_colour(colour)}">{_bold(text) if bold else for_html(text)}</p>'


def heading(text: str, theme: Theme) -> str:
    return f'<p style="margin:{GAP}px 0 2px 0;color:{theme.muted}">{for_html(text)}</p>'


def title(text: str) -> str:
    """Of a section on a page of its own."""
    return f'<p style="margin:{2 * GAP}px 0 {GAP}px 0;font-weight:600">{for_html(text)}</p>'


def points(texts: Iterable[str]) -> str:
    items = "".join(f'<li style="margin-bottom:2px">{for_html(text)}</li>' for text in texts)
    return f'<ul style="margin:0 0 {GAP}px 0;-qt-list-indent:0;margin-left:14px">{items}</ul>'


def code(lines: Sequence[str], theme: Theme) -> str:
    """Verbatim, on its own background."""
    text = "\n".join(map(for_html, lines))
    return (
        f'<table width="100%" cellpadding="6" style="margin:0 0 {GAP}px 0" bgcolor="{theme.raised}"><tr><td>'
        f'<pre style="margin:0;white-space:pre-wrap;{_fixed()}">{text}</pre></td></tr></table>'
    )


def facts(rows: Iterable[Sequence[str]], theme: Theme, header: Sequence[str] = ()) -> str:
    """Names on the left, their values on the right."""
    head = "".join(_cell(text, theme.muted) for text in header)
    body = "".join(
        f"<tr>{_cell(name, theme.muted)}{''.join(_cell(value) for value in values)}</tr>" for name, *values in rows
    )
    return (
        f'<table cellspacing="0" cellpadding="0" style="margin:0 0 {GAP}px 0">'
        f"{f'<tr>{head}</tr>' if head else ''}{body}</table>"
    )


def numbered(lines: Iterable[tuple[int | str, str]], theme: Theme) -> str:
    """Lines of a file, each with its number or where it stands."""
    rows = "".join(
        f'<tr><td align="right" style="padding:0 8px 3px 0;color:{theme.muted};{_fixed()}">{for_html(str(number))}</td>'
        f'<td><p style="margin:0 0 3px 0;white-space:pre-wrap;{_fixed()}">{for_html(text)}</p></td></tr>'
        for number, text in lines
    )
    return f'<table cellspacing="0" cellpadding="0" style="margin:0 0 {GAP}px 0">{rows}</table>'


def tint(label: QLabel, colour: str) -> None:
    palette = label.palette()
    palette.setColor(QPalette.ColorRole.WindowText, colour)
    label.setPalette(palette)


def _cell(text: str, colour: str = "") -> str:
    return f'<td style="padding:0 14px 1px 0;{_colour(colour)}">{for_html(text)}</td>'


def _fixed() -> str:
    return f"font-family:{QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()}"


def _bold(text: str) -> str:
    return f"<b>{for_html(text)}</b>"


def _colour(colour: str) -> str:
    return f"color:{colour}" if colour else ""
