"""A log that a collector wrote as JSON, one record a line (Docker, Kubernetes, Google Cloud): the program's own lines.

{"log":"Epoch 1/3\\n","stream":"stderr","time":"2026-01-05T10:00:00Z"}
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

MOST_RECORD_BYTES = 16 << 20  # a longer line is not a record
MOST_PLACES = 100_000


class _Payload(msgspec.Struct):
    message: str = ""


class _Record(msgspec.Struct):
    log: str = ""
    message: str = ""
    msg: str = ""
    MESSAGE: str = ""  # journald's
    textPayload: str = ""  # Google Cloud's
    jsonPayload: _Payload | None = None

    @property
    def text(self) -> str:
        told = self.log or self.message or self.msg or self.MESSAGE or self.textPayload
        return told or (self.jsonPayload.message if self.jsonPayload else "")


_DECODER = msgspec.json.Decoder(_Record)


def is_records(head: bytes) -> bool:
    """`head` may end in the middle of the first record."""
    first = head.lstrip().partition(b"\n")[0]
    if first[:1] != b"{":
        return False
    if b"\n" not in head.strip() and not first.endswith(b"}"):
        return first[:200].startswith((b'{"log":"', b'{"log": "'))
    return bool(_text_of(first))


def as_text(pieces: Iterable[bytes], begin: Callable[[str, int], None]) -> Iterator[bytes]:
    """`begin` is told the number of a record, and how many lines ahead it starts: as soon as one holds several lines,
    the lines' numbers are not the file's."""
    rest, number, placed = b"", 0, 0
    for piece in pieces:
        lines = (rest + piece).split(b"\n")
        rest = lines.pop()
        if len(rest) > MOST_RECORD_BYTES:
            lines, rest = [*lines, rest], b""
        texts, ahead = [], 0
        for line in lines:
            number += 1
            text = _text_of(line) or line
            if (several := text.count(b"\n")) or placed:
                if placed < MOST_PLACES:
                    begin(f"record {number}", ahead)
                placed += 1
            texts.append(text)
            ahead += 1 + several
        yield b"".join(text + b"\n" for text in texts)
    if rest:
        text = _text_of(rest) or rest
        if placed or b"\n" in text:
            begin(f"record {number + 1}", 0)
        yield text


def _text_of(line: bytes) -> bytes:
    """Empty where it is not a record."""
    if line[:1] != b"{":
        return b""
    try:
        return _DECODER.decode(line).text.rstrip("\r\n").encode("utf-8", "replace")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return b""
