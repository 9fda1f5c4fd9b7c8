"""A log file as the text in it, whatever it is wrapped in. Read in pieces: memory stays flat."""

import bz2
import lzma
import tarfile
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import takewhile
from typing import BinaryIO, Protocol, Self, cast

from planner_app.errors import PlannerError
from planner_app.files.archives import DAMAGED
from planner_app.files.logs import events, notebook, records

PIECE_BYTES = 1 << 18
PACKED_BYTES = 1 << 14  # of a compressed file, unpacked in steps
STEP_BYTES = 1 << 12
HEAD_BYTES = 1 << 16  # enough to tell what a file is
MOST_TEXT_BYTES = 4 << 30  # of a plain file
MOST_UNPACKED_BYTES = 1 << 30  # of all that a small archive may hold
MOST_MEMBERS = 1000
MOST_HEADER_BYTES = 1 << 16  # of a long name in a tar
MOST_DICTIONARY_BYTES = 256 << 20  # what unpacking may hold; xz -9 takes 65 MiB
MOST_LAYERS = 3  # an archive in an archive in a compressed file
_TAR_MAGIC_AT = 257


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class LogPart:
    """The text of a file, or of one file of an archive, in pieces.

    Attributes:
        places: The line at which each cell of a notebook begins, and its name.
        notes: Sentences on what could not be read whole.
    """

    def __init__(self, name: str, log: BinaryIO, head: bytes, room: "_Room") -> None:
        self.name, self._log, self._head, self._room = name, log, head, room
        self._line = 1
        self.places: list[tuple[int, str]] = []
        self.notes: list[str] = []

    def __iter__(self) -> Iterator[bytes]:
        try:
            for piece in self._pieces():
                self._room.left_bytes -= len(piece)
                self._line += piece.count(b"\n")
                yield piece
                if self._room.left_bytes < 0:
                    self.notes.append(f"Only the first {self._room.most_bytes >> 30} GiB of the text were read.")
                    return
        except DAMAGED as error:
            why = " ".join(str(error).split())[:200] or type(error).__name__
            self.notes.append(f"The file is damaged or cut off ({why}): read as far as it goes.")

    def place_of(self, line: int) -> str:
        """ "cell 7, line 3" of a line of the text."""
        at = bisect_right(self.places, line, key=lambda place: place[0]) - 1
        if at < 0:
            return ""
        first, name = self.places[at]
        return f"{name}, line {line - first + 1}"

    def _pieces(self) -> Iterator[bytes]:
        if events.is_events(self._head):
            yield from events.as_text(self._log, self.notes)
        elif notebook.is_notebook(self._head, self.name):
            yield from notebook.as_text(self._log, lambda cell: self.places.append((self._line, cell)))
        elif records.is_records(self._head):
            yield from records.as_text(
                self._raw(), lambda record, ahead: self.places.append((self._line + ahead, record))
            )
        else:
            yield from self._raw()

    def _raw(self) -> Iterator[bytes]:
        while piece := self._log.read(PIECE_BYTES):
            yield piece


class _Room:
    """What is still read of a file, with all that is packed in it."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = self.left_bytes = most_bytes
        self.left_members = MOST_MEMBERS

    def take(self) -> bool:
        """Whether there is room for one more file of an archive."""
        self.left_members -= 1
        return self.left_members >= 0 and self.left_bytes >= 0


class _Member(tarfile.TarInfo):
    """A tar's own records, long names say, are held in memory whole."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        found = super().frombuf(buf, encoding, errors)
        if not (found.isreg() or found.isdir() or found.issym() or found.islnk()) and found.size > MOST_HEADER_BYTES:
            raise tarfile.ReadError(f"a record of {found.size:,} bytes")
        return found


def parts(log: BinaryIO, name: str = "") -> Iterator[LogPart]:
    """One after the other: each is read before the next is asked for."""
    return _parts(log, name, MOST_LAYERS, None)


def _parts(log: BinaryIO, name: str, layers: int, room: _Room | None) -> Iterator[LogPart]:
    """`room` is that of the archive it comes from, if it comes from one."""
    try:
        head = log.read(HEAD_BYTES)
    except DAMAGED as error:
        if room is None:
            raise
        head, log = b"", _Damaged(error)
    whole = _Joined(head, log)
    if head[:4] == b"\x28\xb5\x2f\xfd":
        raise PlannerError(
            "The log is compressed with Zstandard: unpack it with `zstd -d LOG` and give that, or pipe it: "
            "`zstd -dc LOG | plimsoll doctor -`."
        )
    packed = room or _Room(MOST_UNPACKED_BYTES)
    if layers and (unpacked := _decompressed(head, whole)) is not None:
        yield from _parts(unpacked, name.rpartition(".")[0] or name, layers - 1, packed)
    elif layers and head[:4] == b"PK\x03\x04":
        yield from _of_zip(log, layers - 1, packed)
    elif layers and head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar":
        yield from _of_tar(whole, layers - 1, packed)
    else:
        yield LogPart(name, whole, head, room or _Room(MOST_TEXT_BYTES))


def _of_zip(log: BinaryIO, layers: int, room: _Room) -> Iterator[LogPart]:
    if not log.seekable():
        raise PlannerError("A zip can't be read from standard input: give its file's name.")
    try:
        with zipfile.ZipFile(log) as archive:
            for member in takewhile(lambda _: room.take(), archive.infolist()):
                if not member.filename.endswith("/"):
                    with archive.open(member) as file:
                        yield from _parts(cast(BinaryIO, file), member.filename, layers, room)
    except DAMAGED as error:
        raise PlannerError(f"The archive can't be read: {error}.") from error


def _of_tar(log: BinaryIO, layers: int, room: _Room) -> Iterator[LogPart]:
    try:
        with tarfile.open(fileobj=log, mode="r|", tarinfo=_Member) as archive:
            while room.take() and (member := archive.next()) is not None:
                if member.isreg() and (file := archive.extractfile(member)) is not None:
                    yield from _parts(cast(BinaryIO, file), member.name, layers, room)
    except DAMAGED as error:
        raise PlannerError(f"The archive can't be read: {error}.") from error


class OfPieces(BytesIO):
    """A pipe, say, of which one piece comes after the other."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces, self._waiting = pieces, b""

    def seekable(self) -> bool:
        return False

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = PIECE_BYTES if size is None or size < 0 else size
        data = self._waiting or next(self._pieces, b"")
        self._waiting = data[wanted:]
        return data[:wanted]


class _Joined(BytesIO):
    """What was read to look at it, and the rest of the file behind it."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__(head)
        self._rest = rest

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(size) or self._rest.read(-1 if size is None else size)


class _Damaged(BytesIO):
    """A packed file of which not even the beginning can be read."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    def read(self, _size: int | None = -1, /) -> bytes:
        raise self._error


class _Unpacked(BytesIO):
    """A compressed file, unpacked as it is read. Several that were put behind each other are one.

    What stands before a damage is given, but for a step: a step in which it is found gives nothing.
    """

    def __init__(self, log: BinaryIO, new: Callable[[], _Decompressor]) -> None:
        super().__init__()
        self._log, self._new = log, new
        self._unpacker = new()
        self._waiting = b""
        self._left_bytes = 2 * MOST_UNPACKED_BYTES  # what nobody wants is unpacked too, to get past it
        self._error: Exception | None = None

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = PIECE_BYTES if size is None or size < 0 else size
        found: list[bytes] = []
        try:
            while self._error is None and wanted > 0 and (text := self._step(min(wanted, STEP_BYTES))):
                found.append(text)
                wanted -= len(text)
        except DAMAGED as error:
            self._error = error
        if self._error is not None and not found:
            raise self._error
        return b"".join(found)

    def _step(self, wanted: int) -> bytes:
        if self._left_bytes < 0:
            raise EOFError(f"it unpacks to more than {2 * MOST_UNPACKED_BYTES >> 30} GiB")
        while True:
            packed = b""
            if self._unpacker.eof or self._unpacker.needs_input:
                packed = self._waiting or self._log.read(PACKED_BYTES)
                self._waiting = b""
                if not packed:
                    if not self._unpacker.eof:
                        raise EOFError("it ends in the middle")
                    return b""
            if self._unpacker.eof:
                if not packed.strip(b"\x00"):
                    return b""
                self._unpacker = self._new()
            text = self._unpacker.decompress(packed, wanted)
            self._waiting = self._unpacker.unused_data
            if text:
                self._left_bytes -= len(text)
                return text


class _Gzip:
    """zlib's object in the shape of bz2's and lzma's."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = 0, /) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


_COMPRESSED: dict[bytes, Callable[[], _Decompressor]] = {
    b"\x1f\x8b": _Gzip,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lambda: lzma.LZMADecompressor(memlimit=MOST_DICTIONARY_BYTES),
}


def _decompressed(head: bytes, log: BinaryIO) -> BinaryIO | None:
    for magic, new in _COMPRESSED.items():
        if head.startswith(magic):
            return _Unpacked(log, new)
    return None
