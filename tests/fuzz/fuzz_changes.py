"""Inputs that are almost as they should be. The same `Random` makes the same changes."""

import json
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

LONGEST_BYTES = 1 << 20
NUMBERS = (
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0x100,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    2**63,
    2**64 - 1,
)
TEXTS = (
    "",
    "x" * 5000,
    "\x1b[31m",
    "\ud800",
    "é\u202e",
    "../../x",
    "/etc/passwd",
    "\n",
    "NaN",
    "__class__",
    "<b>x</b>",
)
VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 2, 2**31 - 1, 2**31, 2**63, 10**30, 10**400, 1e308, 0.5, -0.0, True, False, None),
    *TEXTS,
    *(
        [],
        {},
        [[]],
        [None],
        [1, 2, 3],
        {"class_name": "Lambda", "config": {}},
        {"class_name": "function", "config": "eval"},
    ),
    {"class_name": "__numpy__", "config": {"value": [1], "dtype": "float32"}},
    [0] * 1000,
)
DEEP = 300
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def changed_bytes(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """One to eight changes, of a byte or of a stretch."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        random.choice(_BYTES)(found, random, others)
    return bytes(found[:LONGEST_BYTES])


def changed_text(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """Lines moved about, numbers exchanged; sometimes bytes as well."""
    found = data
    for _ in range(random.choice((1, 1, 2, 4))):
        found = random.choice((_numbers, _numbers, _lines, _cells))(found, random)[:LONGEST_BYTES]
    return changed_bytes(found, random, others) if random.random() < 0.3 else found


def changed_json(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """The tree with other values, keys and shapes; sometimes only the text."""
    if random.random() < 0.15:
        return changed_text(data, random, others)
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return changed_bytes(data, random, others)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        tree = _changed_tree(tree, random)
    text = json.dumps(tree, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    return changed_bytes(text, random, others) if random.random() < 0.1 else text[:LONGEST_BYTES]


def changed_lines_of_json(data: bytes, random: Random, others: Sequence[bytes] = ()) -> bytes:
    """Lines of JSON, one of them changed."""
    lines = data.split(b"\n")
    place = random.randrange(len(lines))
    lines[place] = changed_json(lines[place], random, others)
    return b"\n".join(lines)


def _changed_tree(tree: Any, random: Random) -> Any:
    places = list(_places(tree))
    if not places:
        return _value(random)
    holder, key = random.choice(places)
    match random.randrange(7):
        case 0 | 1 | 2:
            holder[key] = _value(random)
        case 3:
            del holder[key]
        case 4:
            other, elsewhere = random.choice(places)
            if key in holder if isinstance(holder, dict) else True:
                holder[key] = json.loads(json.dumps(other[elsewhere]))
        case 5:
            value = holder[key]
            for _ in range(random.choice((1, 2, DEEP))):
                value = [value] if random.random() < 0.5 else {"config": value}
            holder[key] = value
        case 6:
            if isinstance(holder, dict):
                holder[random.choice((*TEXTS, "class_name", "config", "module", "name"))] = holder.pop(key)
            else:
                holder.insert(key, _value(random))
    return tree


def _value(random: Random) -> Any:
    """One of its own: it may be changed in turn, and must not come to hold itself."""
    return deepcopy(random.choice(VALUES))


def _places(tree: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    stack = [tree]
    while stack:
        value = stack.pop()
        if isinstance(value, dict | list):
            keys = list(value) if isinstance(value, dict) else range(len(value))
            found += [(value, key) for key in keys]
            stack += value.values() if isinstance(value, dict) else value
    return found


def _stretch(data: bytearray, random: Random) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.choice((1, 4, 16, 64, 512, 3000)))


def _flip(data: bytearray, random: Random, others: Sequence[bytes]) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _number(data: bytearray, random: Random, others: Sequence[bytes]) -> None:
    size = random.choice((1, 2, 4, 8))
    start = random.randrange(max(1, len(data) - size))
    value = random.choice(NUMBERS) % (1 << (8 * size))
    data[start : start + size] = value.to_bytes(size, random.choice(("little", "big")))


def _zeros(data: bytearray, random: Random, others: Sequence[bytes]) -> None:
    start, end = _stretch(data, random)
    data[start:end] = bytes([random.choice((0, 0, 0xFF, 0x20))]) * (end - start)


def _noise(data: bytearray, random: Random, others: Sequence[bytes]) -> None:
    start, end = _stretch(data, random)
    data[start:end] = random.randbytes(end - start)


def _gone(data: bytearray, random: Random, others: Sequence[bytes]) -> None:
    start, end = _stretch(data, random)
    del data[start:end]


def _twice(data: bytearray, random: Random, others: Sequence[bytes]) -> None:
    start, end = _stretch(data, random)
    data[start:start] = data[start:end] * random.choice((1, 1, 20))


def _moved(data: bytearray, random: Random, others: Sequence[bytes]) -> None:
    start, end = _stretch(data, random)
    to = random.randrange(len(data) + 1)
    data[to : to + end - start] = data[start:end]


def _cut(data: bytearray, random: Random, others: Sequence[bytes]) -> None:
    del data[random.randrange(len(data) + 1) :]


def _spliced(data: bytearray, random: Random, others: Sequence[bytes]) -> None:
    other = random.choice(others) if others else b""
    data[random.randrange(len(data) + 1) :] = other[random.randrange(len(other) + 1) :]


_BYTES: tuple[Callable[[bytearray, Random, Sequence[bytes]], None], ...] = (
    *(_flip, _flip, _number, _number, _zeros, _zeros),
    *(_noise, _gone, _twice, _moved, _cut, _spliced),
)


def _numbers(data: bytes, random: Random) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    at = random.choice(found)
    other = random.choice((b"0", b"-1", b"1e999", b"NaN", b"9" * 5000, b"18446744073709551616", b"0.0000001", b"1,5"))
    return data[: at.start()] + other + data[at.end() :]


def _lines(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    place, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(5):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[other])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case 3:
            lines[place] = lines[place][: random.randrange(len(lines[place]) + 1)]
        case 4:
            often = min(random.choice((2, 50, 1000)), LONGEST_BYTES // (len(lines[place]) + 1) + 1)
            lines[place : place + 1] = [lines[place]] * often
    return random.choice((b"\n", b"\n", b"\n", b"\r", b"\r\n", b"")).join(lines)


def _cells(data: bytes, random: Random) -> bytes:
    marks = [place for place, letter in enumerate(data) if letter in b",;:\"'= ()[]{}"]
    if not marks:
        return data
    at = random.choice(marks)
    other = random.choice((*TEXTS, '"', "'", ",", "\0", "=1+1")).encode("utf-8", "surrogatepass")
    return data[: at + random.randrange(2)] + other + data[at + 1 :]
