"""Text that came from outside (a model, plan, log, list or file name), made safe for the place it goes to:

    for_terminal(name)      escape sequences, C1 controls and bidirectional overrides become a visible mark
    for_line(name)          the same on one line, for a table cell, a label or a sentence
    for_html(name)          for HTML and SVG, in text and in quoted attributes
    for_csv(cell)           a cell that spreadsheets read as text, not as a formula
    for_json(document)      the same JSON document, safe to print on a terminal
    for_python(name)        a string literal in source code
    for_comment(name)       words in a comment or docstring of source code
    for_file_name(name)     one part of a path

Apply the function named after the destination where the text is written out; keep text as it was read until then.
"""

import html
import json
import re
import unicodedata
from typing import Any, TypeVar

T = TypeVar("T")

MARK = "\ufffd"  # replaces characters that are not shown
MOST_NAME_BYTES = 120  # of a file name: file systems allow 255, and a suffix or a number may follow
_LINES = "\n\t"
_JOINERS = "\u200c\u200d"  # needed by some scripts and by emoji of several parts
_SPREADSHEET_STARTS = ("=", "+", "-", "@", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # wide forms too
# Where commas are decimal points, spreadsheets begin a new cell at a semicolon.
_NEXT_CELL = re.compile(rf";(?=[ {MARK}\"]*[{re.escape(''.join(_SPREADSHEET_STARTS))}])")
_NOT_IN_FILE_NAMES = re.compile(r'[/\\:*?"<>|]')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")  # devices on Windows, whatever the ending


class _Table(dict[int, str]):
    """For `str.translate`, which looks up each distinct character once."""

    def __init__(self, kept: str) -> None:
        super().__init__({ord(letter): letter for letter in kept})

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        shown = letter if letter.isprintable() else " " if unicodedata.category(letter) == "Zs" else MARK
        self[code] = shown
        return shown


_SHOWN = _Table(_LINES + _JOINERS)


def is_plain(text: str) -> bool:
    """True for a single line that is safe on any screen as it is."""
    return text.isprintable() or for_line(text) == text


def unreadable(value: Any) -> str | None:
    """The first string in it with control characters or misleading text direction, if any."""
    if isinstance(value, str):
        return None if is_plain(value) else value
    inside = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return next((found for each in inside if (found := unreadable(each)) is not None), None)


def for_terminal(text: str) -> str:
    """For any screen: replaces what controls a terminal or reverses the text direction by a mark."""
    if text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_SHOWN)


def for_line(text: str) -> str:
    if text.isprintable():
        return text
    return for_terminal(text).replace("\n", " ").replace("\t", " ")


def for_html(text: str) -> str:
    """XML forbids control characters, even escaped ones: an SVG that has one is not shown at all."""
    return html.escape(for_terminal(text))


def for_csv(cell: T) -> T | str:
    """Numbers stay numbers. Text that a spreadsheet would evaluate gets an apostrophe, as OWASP advises."""
    if not isinstance(cell, str):
        return cell
    text = _NEXT_CELL.sub(";'", for_line(cell))
    return f"'{text}" if text.lstrip(" " + MARK).startswith(_SPREADSHEET_STARTS) and not _is_number(text) else text


def for_json(document: str) -> str:
    """JSON strings may contain most characters as they are; those that a terminal would obey are escaped."""
    if document.isprintable():
        return document
    return "".join(letter if _is_shown(letter) else _json_escape(letter) for letter in document)


def for_python(text: str) -> str:
    """A literal in double quotes without invisible characters or reversed text direction."""
    quoted = json.dumps(text, ensure_ascii=False)  # JSON's escapes mean the same in Python
    return "".join(letter if letter.isprintable() else _python_escape(letter) for letter in quoted)


def for_comment(text: str) -> str:
    """Removes whatever could end a comment or a docstring."""
    return "".join(letter if letter.isprintable() and letter not in "\"'\\" else "_" for letter in text)


def for_file_name(text: str, otherwise: str = "model") -> str:
    """A file name that is safe on any system: no separators, no leading dot, nothing that looks like an option."""
    name = _NOT_IN_FILE_NAMES.sub("_", for_line(text).replace(MARK, "_")).strip(" .").lstrip("-~")
    name = name.encode("utf-8", "replace")[:MOST_NAME_BYTES].decode("utf-8", "ignore").strip(" .")
    return otherwise if not name or _RESERVED.fullmatch(name) else name


def _is_shown(letter: str) -> bool:
    return _SHOWN[ord(letter)] == letter


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _json_escape(letter: str) -> str:
    return json.dumps(letter)[1:-1] if ord(letter) > 0x7F else f"\\u{ord(letter):04x}"


def _python_escape(letter: str) -> str:
    return f"\\u{ord(letter):04x}" if ord(letter) <= 0xFFFF else f"\\U{ord(letter):08x}"
