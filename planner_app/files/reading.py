"""Reads the user's files, up to a maximum length and never waiting forever."""

import errno
import os
import select
import stat
from collections.abc import Iterator
from pathlib import Path

PIECE_BYTES = 1 << 20
PATIENCE_SECONDS = 10.0  # for a pipe with a writer; without one there is no point in waiting


def read_at_most(path: Path | str, most_bytes: int) -> bytes:
    """The whole file, or `most_bytes + 1` bytes if it is longer, so endless files such as /dev/zero are safe too.

    Raises:
        OSError: The file can't be read, or is a pipe without a writer.
    """
    data = bytearray()
    for piece in pieces_of(path):
        data += piece
        if len(data) > most_bytes:
            break
    return bytes(data[: most_bytes + 1])


def pieces_of(path: Path | str) -> Iterator[bytes]:
    """A file in pieces. For a named pipe, waits a limited time for the first bytes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if stat.S_ISREG(mode):
            yield from iter(lambda: os.read(descriptor, PIECE_BYTES), b"")
        else:
            yield from _of_pipe(descriptor, path)
    finally:
        os.close(descriptor)


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
