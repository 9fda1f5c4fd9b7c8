"""A notebook's outputs as text: what its cells printed and the errors they raised, not what is written in them."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import BinaryIO

import msgspec

# What has more of either is read as plain lines.
MOST_BYTES = 64 << 20
MOST_OBJECTS = 1_000_000
MOST_LINE_BYTES = 1 << 20


class _Output(msgspec.Struct):
    text: str | list[str] = ""
    traceback: list[str] = []
    ename: str = ""
    evalue: str = ""


class _Cell(msgspec.Struct):
    outputs: list[_Output] = []
    execution_count: int | None = None


class _Sheet(msgspec.Struct):
    cells: list[_Cell] = []


class _Notebook(msgspec.Struct):
    cells: list[_Cell] = []
    worksheets: list[_Sheet] = []  # until format 3


def is_notebook(head: bytes, name: str) -> bool:
    start = head.lstrip()[:1] == b"{"
    return start and (name.endswith(".ipynb") or b'"nbformat"' in head or b'"cells"' in head[:2000])


def as_text(log: BinaryIO, begin: Callable[[str], None]) -> Iterator[bytes]:
    """`begin` is told the name of each cell before its text."""
    pieces, size = [], 0
    while size <= MOST_BYTES and (piece := log.read(1 << 20)):
        pieces.append(piece)
        size += len(piece)
    book = _decoded(b"".join(pieces))
    if book is None:
        yield from _as_lines(chain(pieces, iter(lambda: log.read(1 << 20), b"")))
        return
    del pieces
    cells = [*book.cells, *(cell for sheet in book.worksheets for cell in sheet.cells)]
    for number, cell in enumerate(cells, 1):
        text = "".join(_of_output(output) for output in cell.outputs)
        if text:
            begin(f"cell {cell.execution_count or number}")
            yield text.encode("utf-8", "replace")


def _of_output(output: _Output) -> str:
    text = output.text if isinstance(output.text, str) else "".join(output.text)
    trace = "\n".join(output.traceback)
    if output.ename not in trace or output.evalue not in trace:  # mostly the traceback's last line says it
        trace = f"{trace}\n{output.ename}: {output.evalue}"
    text += trace.lstrip("\n")
    return text if text.endswith("\n") or not text else f"{text}\n"


def _decoded(whole: bytes) -> _Notebook | None:
    """None if it was cut off or damaged, or is too much to hold."""
    if len(whole) > MOST_BYTES or whole.count(b"{") > MOST_OBJECTS or whole.count(b'",') > MOST_OBJECTS:
        return None
    try:
        return msgspec.json.decode(whole, type=_Notebook)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _as_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Of a notebook as text: each string of an output stands on a line of its own."""
    rest = b""
    for piece in pieces:
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        if len(rest) > MOST_LINE_BYTES:
            lines, rest = [*lines, rest], b""
        yield b"".join(map(_as_line, lines))
    yield _as_line(rest)


def _as_line(line: bytes) -> bytes:
    text = line.strip().rstrip(b",")
    if text[:1] == text[-1:] == b'"':
        with suppress(ValueError):
            written: str = json.loads(text)
            return written.rstrip("\n").encode("utf-8", "replace") + b"\n"
    return line + b"\n"
