"""The memory of a program, read from what XLA writes down when it has laid it out.

`-buffer-assignment.txt` has the allocations and the places in the temporary block, `-live-range.txt` who is alive when,
and the program itself (`_after_optimizations.txt`) the operation each instruction comes from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from planner_app.core.compile.check import Buffer, Compiled
from planner_app.worker.compile.travel import travelling_bytes

MOST_BUFFERS = 100
PROGRAM = "_gpu_after_optimizations"
LAST = "-memory-usage-report.txt"  # written when the others are
ALLOCATION = re.compile(r"^allocation \d+: size (?P<size>\d+)")
SHAPE = re.compile(r"\|.*\|")  # of an argument or a result, which may be thousands of letters long
VALUE = re.compile(
    r"^ value: <\d+ (?P<name>[^\s{]+)(?P<part>\{[\d,]*\})? @\d+> "
    r"\(size=(?P<size>\d+),offset=(?P<offset>\d+)\): (?P<shape>.+)$"
)
RANGE = re.compile(r"^\s+(?P<name>[^\s{]+)(?P<part>\{[\d,]*\}):(?P<first>\d+)-(?P<last>\d+)$")
LAYOUT = re.compile(r"(?<=\])\{[^}]*\}")  # "f32[8,56,56,64]{3,2,1,0}" is that shape in rows
INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?(?P<name>[\w.\-]+) = ")
COMPUTATION = re.compile(r"^(?:ENTRY )?%?(?P<name>[\w.\-]+) (?:\(.*\) -> .*)?\{$")
CALLS = re.compile(r"\bcalls=%?([\w.\-]+)")
OPERATION = re.compile(r'op_name="([^"]+)"')


@dataclass(frozen=True, slots=True)
class _Value:
    """A place in the temporary block, and the first and the last instruction for which it is taken."""

    name: str
    part: str
    bytes: int
    offset: int
    shape: str
    first: int
    last: int


def is_laid_out(dump: Path) -> bool:
    """XLA has settled where everything lies, and has written it down."""
    return any(dump.glob(f"*{PROGRAM}{LAST}"))


def layout_of(dump: Path) -> Compiled:
    """What the program holds, and the largest buffers of its fullest moment. Layers are the parent's to say."""
    program = max(dump.glob(f"*{PROGRAM}.txt"), key=lambda file: file.stat().st_size)
    stem = program.name.removesuffix(".txt")
    assignment = _lines(dump / f"{stem}-buffer-assignment.txt")
    values = _values(assignment, _ranges(_lines(dump / f"{stem}-live-range.txt")))
    alive = sorted(_most_alive(values), key=lambda value: (-value.bytes, value.offset))
    lines = _lines(program)
    operations = _operations(lines)
    total = _totals(assignment)
    return Compiled(
        argument_bytes=total["argument"],
        output_bytes=total["output"],
        alias_bytes=total["alias"],
        temp_bytes=total["temp"],
        peak_bytes=sum(value.bytes for value in alive),
        travel_bytes=travelling_bytes(lines),
        buffers=tuple(
            Buffer(
                value.name + value.part.replace("{}", ""), operations.get(value.name, ""), "", value.shape, value.bytes
            )
            for value in alive[:MOST_BUFFERS]
        ),
    )


def _totals(lines: Iterable[str]) -> Counter[str]:
    """Bytes by what an allocation is for; a result that takes an argument's place is `alias` too."""
    total: Counter[str] = Counter()
    for line in lines:
        if found := ALLOCATION.match(line):
            kinds = SHAPE.sub("", line)
            argument, output = ", parameter " in kinds, "maybe-live-out" in kinds
            for kind, counts in (
                ("argument", argument),
                ("output", output),
                ("alias", argument and output),
                ("temp", "preallocated-temp" in kinds),
            ):
                total[kind] += int(found["size"]) * counts
    return total


def _lines(file: Path) -> list[str]:
    return file.read_text(errors="replace").splitlines()


def _ranges(lines: Iterable[str]) -> dict[tuple[str, str], tuple[int, int]]:
    found = (RANGE.match(line) for line in lines)
    return {(each["name"], each["part"]): (int(each["first"]), int(each["last"])) for each in found if each}


def _values(lines: Iterable[str], ranges: dict[tuple[str, str], tuple[int, int]]) -> list[_Value]:
    """What lies in the temporary block; arguments and results have allocations of their own."""
    values, temporary = [], False
    for line in lines:
        if ALLOCATION.match(line):
            temporary = "preallocated-temp" in line
        elif temporary and (found := VALUE.match(line)):
            part = found["part"] or "{}"
            if span := ranges.get((found["name"], part)):
                shape = LAYOUT.sub("", found["shape"])
                values.append(_Value(found["name"], part, int(found["size"]), int(found["offset"]), shape, *span))
    return values


def _most_alive(values: list[_Value]) -> list[_Value]:
    """Those taken at the moment when most bytes are. Values in one place, as a loop's state has them, count once."""
    change: Counter[int] = Counter()
    for value in values:
        change[value.first] += value.bytes
        change[value.last + 1] -= value.bytes
    most = held = at = 0
    for moment in sorted(change):
        held += change[moment]
        if held > most:
            most, at = held, moment
    alive: dict[int, _Value] = {}
    for value in values:
        if value.first <= at <= value.last and value.bytes > (
            alive[value.offset].bytes if value.offset in alive else 0
        ):
            alive[value.offset] = value
    return list(alive.values())


def _operations(lines: Iterable[str]) -> dict[str, str]:
    """For each instruction the operation it comes from.

    A fusion without a name of its own has that of the last instruction inside it that has one.
    """
    own: dict[str, str] = {}
    inside: dict[str, str] = {}
    calls: dict[str, str] = {}
    computation = ""
    for line in lines:
        if opened := COMPUTATION.match(line):
            computation = opened["name"]
            continue
        instruction = INSTRUCTION.match(line)
        if not instruction:
            continue
        name = instruction["name"]
        if operation := OPERATION.search(line):
            own[name] = inside[computation] = operation[1]
        if called := CALLS.search(line):
            calls[name] = called[1]
    for name, computation in calls.items():
        if name not in own and computation in inside:
            own[name] = inside[computation]
    return own
