"""A TensorBoard file as text: how far training came, and what was logged in words.

Records of TFRecord (length, its checksum, data, its checksum), each an `Event` of TensorFlow in protocol buffers:
1 wall_time (double), 2 step (int64), 5 summary {1 value {1 tag, 2 simple_value (float)}}, 6 log_message {2 message}.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO

MAGIC = b"brain.Event:"
MOST_RECORD_BYTES = 64 << 20
MOST_FIELDS = 2_000_000  # of all records: seconds of work, and the events of days of training
_HEADER, _CHECKSUM = 12, 4
_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5
_Field = tuple[int, int, int | bytes]


class _TooLong(Exception):
    """More fields than are read."""


def is_events(head: bytes) -> bool:
    return MAGIC in head[:80]


def as_text(log: BinaryIO, notes: list[str]) -> Iterator[bytes]:
    last, budget = 0, iter(range(MOST_FIELDS))
    while record := _record(log):
        step, scalars, words = 0, [], []
        try:
            for number, _, value in _fields(record, budget):
                if number == 2 and isinstance(value, int):
                    step = value
                elif number == 5 and isinstance(value, bytes):
                    scalars += list(_scalars(value, budget))
                elif number == 6 and isinstance(value, bytes):
                    words += [text for at, _, text in _fields(value, budget) if at == 2 and isinstance(text, bytes)]
        except (ValueError, IndexError, struct.error):
            notes.append("A record of the file is damaged: read as far as it goes.")
            break
        except _TooLong:
            notes.append("The file has more events than are read: what follows them is not known.")
            break
        last = max(last, step)
        told = [
            f"{tag.decode('utf-8', 'replace')} loss = {scalar:g}, step = {step}".encode() for tag, scalar in scalars
        ]
        yield b"".join(line + b"\n" for line in (*told, *words))
    notes.append(
        f"This is a TensorBoard file: it tells how far training came (step {last}), not why it ended. What the program "
        "itself wrote would tell."
    )


def _record(log: BinaryIO) -> bytes:
    header = _exactly(log, _HEADER)
    if len(header) < _HEADER:
        return b""
    size = int.from_bytes(header[:8], "little")
    if size > MOST_RECORD_BYTES:
        return b""
    record = _exactly(log, size + _CHECKSUM)
    return record[:size] if len(record) == size + _CHECKSUM else b""


def _exactly(log: BinaryIO, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := log.read(size - len(data))):
        data += piece
    return data


def _scalars(summary: bytes, budget: Iterator[int]) -> Iterator[tuple[bytes, float]]:
    for number, _, value in _fields(summary, budget):
        if number != 1 or not isinstance(value, bytes):
            continue
        parts = {at: part for at, _, part in _fields(value, budget)}
        tag, scalar = parts.get(1), parts.get(2)
        if isinstance(tag, bytes) and isinstance(scalar, bytes) and len(scalar) == 4:
            yield tag, struct.unpack("<f", scalar)[0]


def _fields(data: bytes, budget: Iterator[int]) -> Iterator[_Field]:
    place = 0
    while place < len(data):
        if next(budget, None) is None:
            raise _TooLong
        key, place = _varint(data, place)
        kind = key & 7
        if kind == _VARINT:
            value, place = _varint(data, place)
            yield key >> 3, kind, value
            continue
        if kind == _BYTES:
            size, place = _varint(data, place)
        elif kind in (_DOUBLE, _FLOAT):
            size = 8 if kind == _DOUBLE else 4
        else:
            raise ValueError(f"a field of kind {kind}")
        yield key >> 3, kind, data[place : place + size]
        place += size


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a number without an end")
