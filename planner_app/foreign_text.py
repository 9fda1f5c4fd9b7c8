"""Text that came from outside (a model, plan, log, list or file name), made safe for the place it goes to:

    for_terminal(name)      escape sequences, C1 controls, turns of the writing direction: shown as a mark, not obeyed
    for_line(name)          the same in one line, for a table cell, a label or a sentence
    for_html(name)          for HTML and SVG, in text and in quoted attributes
    for_csv(cell)           a cell that a spreadsheet takes for text, not for a formula
    for_json(document)      a JSON document that may end up on a terminal; it means the same
    for_python(name)        a string literal in source code
    for_comment(name)       words in a comment or docstring of source code
    for_file_name(name)     one part of a path

Use the one that is named after the destination, where the text is written out; what is read in stays as it is.
"""

import html
import json
import re
import unicodedata
from typing import TypeVar

T = TypeVar("T")

MARK = "\ufffd"  # stands for what is not shown
MOST_NAME_BYTES = 120  # of a file name: file systems take 255, and an ending or a number may follow
_LINES = "\n\t"
_JOINERS = "\u200c\u200d"  # some scripts, and emoji of several parts, can't be written without
_SPREADSHEET_STARTS = ("=", "+", "-", "@", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # wide forms too
_NOT_IN_FILE_NAMES = re.compile(r'[/\\:*?"<>|]')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")  # devices on Windows, whatever the ending


class _Table(dict[int, str]):
    """For `str.translate`: each character is looked at once."""

    def __init__(self, kept: str) -> None:
        super().__init__({ord(letter): letter for letter in kept})

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        shown = letter if letter.isprintable() else " " if unicodedata.category(letter) == "Zs" else MARK
        self[code] = shown
        return shown


_SHOWN = _Table(_LINES + _JOINERS)


def is_plain(text: str) -> bool:
    """One line that needs nothing done to it on any screen."""
    return text.isprintable() or for_line(text) == text


def for_terminal(text: str) -> str:
    """For screens of all kinds: what steers a terminal, or turns the writing around, is replaced by a mark."""
    if text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_SHOWN)


def for_line(text: str) -> str:
    if text.isprintable():
        return text
    return for_terminal(text).replace("\n", " ").replace("\t", " ")


def for_html(text: str) -> str:
    """XML allows no control characters, not even escaped ones: a picture with one in it is not shown at all."""
    return html.escape(for_terminal(text))


def for_csv(cell: T) -> T | str:
    """Numbers stay numbers. A text that a spreadsheet would work out gets an apostrophe, as the OWASP advises."""
    if not isinstance(cell, str):
        return cell
    text = for_line(cell)
    return f"'{text}" if text.lstrip(" " + MARK).startswith(_SPREADSHEET_STARTS) and not _is_number(text) else text


def for_json(document: str) -> str:
    """JSON allows most characters in texts as they are; those that a terminal would obey are spelled out."""
    if document.isprintable():
        return document
    return "".join(letter if _is_shown(letter) else _json_escape(letter) for letter in document)


def for_python(text: str) -> str:
    """A literal in double quotes that reads as what it is: nothing in it is invisible or turns the line around."""
    quoted = json.dumps(text, ensure_ascii=False)  # JSON's escapes mean the same in Python
    return "".join(letter if letter.isprintable() else _python_escape(letter) for letter in quoted)


def for_comment(text: str) -> str:
    """Nothing that could end a comment or a docstring."""
    return "".join(letter if letter.isprintable() and letter not in "\"'\\" else "_" for letter in text)


def for_file_name(text: str, otherwise: str = "model") -> str:
    """A name in the folder that is meant, on any system: no separators, no hidden file, no option of a command."""
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
