"""A log, in pieces of any size, as the lines of it that matter. Memory stays flat, whatever comes.

Logs arrive with colours, progress bars that return the carriage instead of ending the line, halves of lines where a
terminal wrapped them, notebooks' lines of megabytes, bytes of no encoding, and in UTF-16 where PowerShell wrote them.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

LONGEST_LINE_BYTES = 1 << 20  # a line that is longer is taken in pieces
LOOKED_AT_BYTES = 16 << 20  # of one line; then only its end, however long it is
LONGEST_TEXT = 4000  # characters of a line that are looked at: no line that TensorFlow writes is as long
GROUP, FEW_GATES = 16, 24  # lines that are asked together where there are more gates than a few to ask each for
LAST_PARTS = 2  # of a line that was written over: what the bar said last, and what came instead of the next
_CONTROL = re.compile(rb"\x1b\[[0-9;?]{0,40}+[ -/]{0,4}+[@-~]|\x1b\][^\x07\x1b]{0,400}+\x07?|[\x00-\x08\x0b-\x1f\x7f]")
# What a terminal would obey and an eye would not see: C1, turns of the writing direction, marks without a width.
_UNSEEN = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
MOST_DIGITS = 20
_BEYOND = re.compile(rb"(\d{20})\d++")  # no count of bytes has more digits, and Python reads no number of thousands
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHUNK, _AT = b" of size ", b" at "


class Line(NamedTuple):
    """A line that matters. `number` counts from one; `after` is the line behind it, as it was read, as far as there is
    one; `gates` are those that it holds.

    Lines of a dump that tell one chunk each come many at once, in one text.
    """

    number: int
    text: str
    after: bytes = b""
    gates: tuple[bytes, ...] = ()

    @property
    def following(self) -> str:
        return cleaned(self.after)


class Gates(NamedTuple):
    """Plain bytes of which a line must hold one to matter. Looking for them is what costs time in a long log.

    Attributes:
        always: Of lines that can stand anywhere.
        failures: Those of `always` that a failure can begin with.
        later: Of lines that matter only behind a failure.
        bars: Those of `always` that progress bars hold, and `counts` those of lines that count steps in words;
            `in_bars` may stand beside them.
        plain: Those of `always` that text without other letters can hold; empty for all of them.
        marks: For each gate what finds those marks of rules that hold it; without them a gate is enough.
    """

    always: Sequence[bytes]
    failures: frozenset[bytes]
    later: Sequence[bytes]
    bars: frozenset[bytes] = frozenset()
    counts: frozenset[bytes] = frozenset()
    in_bars: frozenset[bytes] = frozenset()
    plain: Sequence[bytes] = ()
    marks: Mapping[bytes, re.Pattern[bytes]] = MappingProxyType({})

    def only_bar(self, held: Sequence[bytes]) -> bool:
        """Such lines only tell how far the run is: of many that follow each other the last says it all."""
        return self.in_bars.issuperset(held) and not (self.bars.isdisjoint(held) and self.counts.isdisjoint(held))

    def marked(self, line: bytes, held: Sequence[bytes], failed: Callable[[], bool]) -> Sequence[bytes]:
        """Those of `held` that are part of a rule's mark there. Colours may stand in one: they go later."""
        if not self.marks or not self.bars.isdisjoint(held) or b"\x1b" in line or not line.isascii():
            return held
        return [gate for gate in held if (gate not in self.later or failed()) and self.marks[gate].search(line)]

    def in_block(self, block: bytes, failed: bool) -> list[bytes]:
        gates = self.plain if self.plain and block.isascii() else self.always
        present = [gate for gate in gates if gate in block]
        if failed or not self.failures.isdisjoint(present):
            present += [gate for gate in self.later if gate in block]
        return present


def matching_lines(pieces: Iterable[bytes], gates: Gates, failed: Callable[[], bool]) -> Iterator[Line]:
    """The lines that may matter. What lies between them is skipped a block at a time.

    `failed` tells whether a failure has been seen: then more lines matter.
    """
    number, rest = 1, b""
    for piece in _without_middles(_as_utf8(pieces)):
        block = rest + piece
        # The last line may be a half, and the one before it may want to see what follows.
        cut = block.rfind(b"\n", 0, max(block.rfind(b"\n"), 0)) + 1
        if cut == 0 and len(block) > LONGEST_LINE_BYTES:
            cut = len(block)
        rest = block[cut:]
        if present := gates.in_block(block[:cut], failed()):
            after = rest[:LONGEST_TEXT].partition(b"\n")[0]
            yield from _of_block(block[:cut], number, gates, present, after, failed)
        number += block.count(b"\n", 0, cut)
    yield from _of_block(rest, number, gates, gates.in_block(rest, failed()), b"", failed)


def _of_block(
    block: bytes, number: int, gates: Gates, present: Sequence[bytes], after: bytes, failed: Callable[[], bool]
) -> Iterator[Line]:
    """Of progress bars that follow each other only the first and the last are looked at."""
    lines = block.split(b"\n")
    count = len(lines)
    lines.append(after)
    place, bar, in_bars = 0, -1, False
    here, end = present, count if len(present) <= FEW_GATES else 0
    while place < count:
        if place >= end:
            end = place + GROUP
            group = b"\n".join(lines[place:end])
            here = [gate for gate in present if gate in group]
        line = lines[place]
        if _CHUNK in line and _AT in line:
            first = place
            while place < count and _CHUNK in lines[place] and _AT in lines[place]:
                place += 1
            chunks = _BEYOND.sub(rb"\1", b"\n".join(lines[first:place]))
            yield Line(number + first, chunks.decode("ascii", "replace"))
            continue
        held = [gate for gate in here if gate in line]
        if held and (marked := gates.marked(line, held, failed)):
            if in_bars and gates.only_bar(marked):
                bar = place
            else:
                if bar >= 0:
                    yield from _parts(lines[bar], number + bar, b"", present)
                yield from _parts(line, number + place, lines[place + 1] or after, present, held)
                bar, in_bars = -1, gates.only_bar(marked)
        place += 1
    if bar >= 0:
        yield from _parts(lines[bar], number + bar, b"", present)


def _parts(
    line: bytes, number: int, after: bytes, gates: Sequence[bytes], held: Sequence[bytes] | None = None
) -> Iterator[Line]:
    """What a returned carriage has written over is a line of its own, with the same number."""
    line = line.removesuffix(b"\r")
    if b"\r" not in line:
        if held is None:
            held = [gate for gate in gates if gate in line]
        yield Line(number, cleaned(line), after, tuple(held))
        return
    parts = [part for part in line.split(b"\r") if any(gate in part for gate in gates)]
    for part in parts[-LAST_PARTS:]:
        yield Line(number, cleaned(part), after, tuple(gate for gate in gates if gate in part))


def cleaned(line: bytes) -> str:
    if len(line) > MOST_DIGITS:
        line = _BEYOND.sub(rb"\1", line[: 4 * LONGEST_TEXT])
    text = line[:LONGEST_TEXT].decode("utf-8", "replace")
    if not text.isprintable():
        text = _UNSEEN.sub("", _CONTROL.sub(b"", line).decode("utf-8", "replace"))[:LONGEST_TEXT]
    return text.rstrip()


def _without_middles(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Of a line without an end, gigabytes of zeros or of a bar, only the beginning and the end are passed on."""
    length, kept = 0, b""
    for piece in pieces:
        newline = piece.find(b"\n")
        if newline < 0 and length > LOOKED_AT_BYTES:
            kept = (kept + piece)[-LONGEST_LINE_BYTES:]
            continue
        yield kept + piece if kept else piece
        kept, length = b"", length + len(piece) if newline < 0 else len(piece) - piece.rfind(b"\n")
    if kept:
        yield kept


def _as_utf8(pieces: Iterable[bytes]) -> Iterator[bytes]:
    start: bytes | None = b""  # until it tells whether there is a mark of UTF-16
    decoder = None
    for piece in pieces:
        if decoder is None and start is not None:
            start += piece
            if len(start) < 2:
                continue
            if start[:2] in _UTF16:
                decoder = codecs.getincrementaldecoder("utf-16")("replace")
            piece, start = start, None
        text = decoder.decode(piece).encode("utf-8", "replace") if decoder else piece
        # Zeros fill a log that was cut while it was written, and stand between letters in UTF-16 without a mark.
        yield text.translate(None, b"\0") if b"\0" in text else text  # far faster than replace()
    if start:
        yield start
