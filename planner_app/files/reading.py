"""Reads the user's files, up to a maximum length and never waiting forever."""

import contextlib
import errno
import io
import os
import select
import stat
from collections.abc import Iterator
from pathlib import Path

PIECE_BYTES = 1 << 20
PATIENCE_SECONDS = 10.0  # for a pipe with a writer; without one there is no point in waiting


def read_at_most(path: Path | str, most_bytes: int) -> bytes:
    """The whole file, or `most_bytes + 1` bytes if it is longer, so endless files are safe too.

    Raises:
        OSError: The file can't be read, or is a device, or a pipe without a writer.
    """
    data = bytearray()
    for piece in pieces_of(path):
        data += piece
        if len(data) > most_bytes:
            break
    return bytes(data[: most_bytes + 1])


def opened(path: Path | str) -> io.BufferedReader | Iterator[bytes]:
    """An ordinary file, to be closed by the caller; of a pipe, or a file of the kernel's, the pieces.

    What it is is looked at once it is open: nothing that is put in its place meanwhile is waited for. Files such as
    /proc/kmsg call themselves ordinary and empty, and may never end.
    """
    descriptor = _open(path)
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_size:
        return os.fdopen(descriptor, "rb")
    return _pieces(descriptor, path)


def pieces_of(path: Path | str) -> Iterator[bytes]:
    """A file in pieces. For a named pipe, waits a limited time for the first bytes."""
    yield from _pieces(_open(path), path)


def _open(path: Path | str) -> int:
    """Without waiting: of a named pipe without a writer as well."""
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _pieces(descriptor: int, path: Path | str) -> Iterator[bytes]:
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not os.isatty(descriptor)):
            raise OSError(errno.ENODEV, "it is a device, not a file", str(path))
        if stat.S_ISREG(mode):
            yield from _of_file(descriptor)
        else:
            yield from _of_pipe(descriptor, path)
    finally:
        os.close(descriptor)


def _of_file(descriptor: int) -> Iterator[bytes]:
    """To its end, or to where more would have to be waited for."""
    with contextlib.suppress(BlockingIOError):
        yield from iter(lambda: os.read(descriptor, PIECE_BYTES), b"")


def _of_pipe(descriptor: int, path: Path | str) -> Iterator[bytes]:
    begun = False
    while True:
        try:
            piece = os.read(descriptor, PIECE_BYTES)
        except BlockingIOError:
            if not select.select([descriptor], [], [], PATIENCE_SECONDS)[0] and not begun:
                raise TimeoutError(errno.ETIMEDOUT, "nothing is writing to it", str(path)) from None
            continue
        if not piece and not begun:
            raise OSError(errno.ENODATA, "nothing is writing to it", str(path))
        if not piece:
            return
        begun = True
        yield piece
