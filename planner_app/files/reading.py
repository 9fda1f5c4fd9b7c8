"""Files of the user's, read no further than can be meant, and never waited for without end."""

import errno
import os
import select
import stat
from collections.abc import Iterator
from pathlib import Path

PIECE_BYTES = 1 << 20
PATIENCE_SECONDS = 10.0  # for a pipe that somebody writes into; without a writer there is nothing to wait for


def read_at_most(path: Path | str, most_bytes: int) -> bytes:
    """All of a file, or one byte more than that many: then it is too long. What has no end, as /dev/zero, ends too.

    Raises:
        OSError: It can't be read, or is a pipe into which nobody writes.
    """
    data = bytearray()
    for piece in pieces_of(path):
        data += piece
        if len(data) > most_bytes:
            break
    return bytes(data[: most_bytes + 1])


def pieces_of(path: Path | str) -> Iterator[bytes]:
    """A file in pieces. A named pipe counts once a writer has begun: the first bytes are waited for, not for ever."""
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
                raise TimeoutError(errno.ETIMEDOUT, "nobody writes into it", str(path)) from None
            continue
        if not piece and not begun:
            raise OSError(errno.ENODATA, "nobody writes into it", str(path))
        if not piece:
            return
        begun = True
        yield piece
