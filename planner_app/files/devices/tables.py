"""Tables that people keep: CSV, or the first sheet of an XLSX or ODS file. Rows are numbered as a spreadsheet does.

A spreadsheet is a zip of XML from somebody else: at most so many bytes are unpacked and so many elements made, a
document type (and with it every entity) is refused, and repeated cells are counted before they are made.
"""

import csv
import re
import zipfile
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from io import BytesIO, StringIO
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, TreeBuilder
from xml.parsers import expat

from planner_app.errors import DeviceError
from planner_app.files.archives import DAMAGED
from planner_app.files.reading import read_at_most

MAX_FILE_BYTES = 4 << 20
MAX_PART_BYTES = 16 << 20  # of one XML part, unpacked
MOST_ELEMENTS = 1_000_000
MOST_ROWS, MOST_COLUMNS, MOST_LETTERS = 10_000, 100, 10_000
SHEET, STRINGS, BOOK = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml", "xl/workbook.xml"
CONTENT = "content.xml"
Rows = list[tuple[int, list[str]]]
_SEPARATOR = re.compile(r"\s*sep=([,;\t|])\s*")  # Excel's own first line, which is not part of the table
_COLUMN = re.compile(r"([A-Z]{1,3})\d+", re.ASCII)


class _Unreadable(Exception):
    """What is wrong, in a few words."""


def read_table(path: Path) -> Rows:
    """Every row with anything in it."""
    try:
        data = read_at_most(path, MAX_FILE_BYTES)
    except OSError as error:
        raise DeviceError(f"The prices in {path} can't be read: {error.strerror or error}.") from error
    if len(data) > MAX_FILE_BYTES:
        raise DeviceError(f"{path} has more than {MAX_FILE_BYTES >> 20} MiB: that is not a list of prices.")
    try:
        rows = _spreadsheet(data) if data[:4] == b"PK\x03\x04" else _csv(data)
    except _Unreadable as error:
        raise DeviceError(f"{path} is not a table that can be read: {error}. Save it as CSV, XLSX or ODS.") from error
    if any(len(cell) > MOST_LETTERS for _, cells in rows for cell in cells):
        raise DeviceError(f"{path} has a cell of more than {MOST_LETTERS:,} characters: that is not a list of prices.")
    return [(number, cells) for number, cells in rows if any(cells)]


def _csv(data: bytes) -> Rows:
    try:
        lines = list(StringIO(_decoded(data), newline=None))
        if any("\0" in line for line in lines):
            raise _Unreadable("it holds bytes that no text has")
        named = _SEPARATOR.fullmatch(lines[0]) if lines else None
        first = next((line for line in lines[1 if named else 0 :] if line.strip()), "")
        reader = csv.reader(lines, delimiter=named[1] if named else max(",;\t|", key=first.count))
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
        return rows[1:] if named else rows
    except (UnicodeDecodeError, csv.Error) as error:
        raise _Unreadable(f"{error}") from error


def _decoded(data: bytes) -> str:
    """Spreadsheet programs write UTF-8, UTF-16 with a mark, or the letters of Western Windows."""
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252")


def _spreadsheet(data: bytes) -> Rows:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = set(archive.namelist())
            if SHEET in names:
                if BOOK in names and _from_1904(_xml(archive, BOOK)):
                    raise _Unreadable("it counts days from 1904, and its dates would be taken for others")
                strings = _xml(archive, STRINGS) if STRINGS in names else None
                return _xlsx(_xml(archive, SHEET), strings)
            if CONTENT in names:
                return _ods(_xml(archive, CONTENT))
    except DAMAGED as error:
        raise _Unreadable(f"the archive is damaged ({error})") from error
    raise _Unreadable("it has no sheet")


def _xml(archive: zipfile.ZipFile, name: str) -> Element:
    with archive.open(name) as part:
        text = part.read(MAX_PART_BYTES + 1)
    if len(text) > MAX_PART_BYTES:
        raise _Unreadable(f"{name} has more than {MAX_PART_BYTES >> 20} MiB")
    builder, parser = TreeBuilder(), expat.ParserCreate(namespace_separator=" ")
    depth, elements = 0, 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, elements
        depth, elements = depth + 1, elements + 1
        if depth > 64:
            raise _Unreadable(f"{name} is nested too deeply")
        if elements > MOST_ELEMENTS:
            raise _Unreadable(f"{name} has more than {MOST_ELEMENTS:,} elements")
        builder.start(_local(tag), {_local(key): value for key, value in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_local(tag))

    def refuse(*_: object) -> None:
        raise _Unreadable(f"{name} has a document type, which no spreadsheet program writes")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text, True)
        return builder.close()
    except (expat.ExpatError, ParseError, AssertionError, ValueError, LookupError) as error:  # an unknown encoding
        raise _Unreadable(f"{name} is not XML ({error})") from error


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _from_1904(book: Element) -> bool:
    """As Excel for Macs did once."""
    return any(each.get("date1904") in ("1", "true") for each in book.iter("workbookPr"))


def _xlsx(sheet: Element, strings: Element | None) -> Rows:
    shared = [_text(item) for item in strings.findall("si")] if strings is not None else []
    rows: Rows = []
    for count, row in enumerate(sheet.iter("row"), 1):
        if count > MOST_ROWS:
            raise _Unreadable(f"it has more than {MOST_ROWS:,} rows")
        cells: list[str] = []
        for cell in row.findall("c"):
            place = _place(cell.get("r", ""), len(cells))
            cells += [""] * (place - len(cells))
            cells.append(_xlsx_cell(cell, shared))
        rows.append((_number(row.get("r"), count), cells))
    return rows


def _xlsx_cell(cell: Element, shared: list[str]) -> str:
    value = (cell.findtext("v") or "").strip()
    if cell.get("t") == "s":
        place = _number(value, -1)
        return shared[place].strip() if 0 <= place < len(shared) else ""
    if cell.get("t") == "inlineStr":
        return _text(cell).strip()
    return value


def _place(reference: str, following: int) -> int:
    """The column of a cell such as "C7", counted from 0. One without a reference follows the last."""
    found = _COLUMN.fullmatch(reference)
    if found is None:
        return following
    place = 0
    for letter in found[1]:
        place = place * 26 + ord(letter) - ord("A") + 1
    if not following <= place - 1 < MOST_COLUMNS:
        raise _Unreadable(f"it has more than {MOST_COLUMNS} columns, or cells out of order")
    return place - 1


def _ods(content: Element) -> Rows:
    table = next(content.iter("table"), None)
    if table is None:
        raise _Unreadable("it has no sheet")
    rows: Rows = []
    number = 0
    for row in table.iter("table-row"):
        cells = list(_ods_cells(row))
        while cells and not cells[-1]:
            cells.pop()
        number += 1
        if cells:
            rows.append((number, cells))
        number += _number(row.get("number-rows-repeated"), 1) - 1
        if len(rows) > MOST_ROWS:
            raise _Unreadable(f"it has more than {MOST_ROWS:,} rows")
    return rows


def _ods_cells(row: Element) -> Iterator[str]:
    made = 0
    for cell in row:
        if cell.tag not in ("table-cell", "covered-table-cell"):
            continue
        value = cell.get("date-value") or cell.get("value") or "\n".join(_text(part) for part in cell.findall("p"))
        # Sheets end in one empty cell that is repeated to the last column.
        for _ in range(min(_number(cell.get("number-columns-repeated"), 1), MOST_COLUMNS - made)):
            made += 1
            yield value.strip()


def _text(element: Element) -> str:
    return "".join(element.itertext())


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else otherwise
