"""A notebook's outputs as text: what its cells printed and the errors they raised, not what is written in them."""

import json
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

MOST_BYTES = 64 << 20  # a larger one is read as plain lines


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
    whole = b"".join(pieces)
    try:
        book = msgspec.json.decode(whole, type=_Notebook)
    except msgspec.MsgspecError:
        yield from _as_lines(whole)  # cut off, or too long: its strings stand on lines of their own
        while piece := log.read(1 << 20):
            yield from _as_lines(piece)
        return
    del pieces, whole
    cells = [*book.cells, *(cell for sheet in book.worksheets for cell in sheet.cells)]
    for number, cell in enumerate(cells, 1):
        text = "".join(_of_output(output) for output in cell.outputs)
        if text:
            begin(f"cell {cell.execution_count or number}")
            yield text.encode("utf-8", "replace")


def _of_output(output: _Output) -> str:
    text = output.text if isinstance(output.text, str) else "".join(output.text)
    if output.traceback:
        text += "\n".join(output.traceback)
    elif output.ename:
        text += f"{output.ename}: {output.evalue}"
    return text if text.endswith("\n") or not text else f"{text}\n"


def _as_lines(whole: bytes) -> Iterator[bytes]:
    for line in whole.split(b"\n"):
        text = line.strip().rstrip(b",")
        if text[:1] == b'"' and text[-1:] == b'"':
            try:
                yield json.loads(text).rstrip("\n").encode("utf-8", "replace") + b"\n"
                continue
            except (ValueError, AttributeError):
                pass
        yield line + b"\n"
