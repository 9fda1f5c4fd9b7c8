"""The file itself: opened once, only if it is a regular file, read in windows, hashed in pieces."""

import hashlib
import io
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner_app.jobs.launch import FILE_VARIABLE
from planner_app.worker.inspect.refusal import Refused

PIECE_BYTES = 1 << 20
MAX_FOLDER_FILES = 10_000


@dataclass(frozen=True, slots=True)
class Source:
    """An open regular file. Everything is read through this one descriptor, so all of it is of one file."""

    descriptor: int
    size_bytes: int
    changed_ns: int

    def read(self, count: int, offset: int = 0) -> bytes:
        return os.pread(self.descriptor, count, offset)

    def window(self, offset: int = 0, length: int | None = None) -> "Window":
        return Window(self, offset, self.size_bytes - offset if length is None else length)

    def check_unchanged(self) -> None:
        now = os.fstat(self.descriptor)
        if (now.st_size, now.st_ctime_ns) != (self.size_bytes, self.changed_ns):
            raise Refused("it was changed while it was being read. Try again when nothing writes to it any more")

    def close(self) -> None:
        os.close(self.descriptor)


def open_source(path: Path, *, follow: bool = True) -> Source:
    """Opens a regular file; whatever else stands there is refused without waiting for it."""
    try:
        # A named pipe without a writer would block an ordinary open for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    except FileNotFoundError:
        raise Refused("there is no such file. Check the path") from None
    except PermissionError:
        raise Refused("it may not be read. Give yourself read permission") from None
    except OSError as error:
        raise Refused(f"the system says {error.strerror!r}. Check the path") from error
    return _source(descriptor)


def handed_over() -> Source | None:
    """The file that the parent has opened, once; None where it has not, or could not."""
    descriptor = int(os.environ.pop(FILE_VARIABLE, "-1"))
    return _source(descriptor) if descriptor >= 0 else None


def _source(descriptor: int) -> Source:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise Refused("it is not a regular file. Name a model file, or a SavedModel folder")
    if found.st_size == 0:
        os.close(descriptor)
        raise Refused("it is empty. Save the model again")
    return Source(descriptor, found.st_size, found.st_ctime_ns)  # unlike the time of writing, nobody can set it


class Window(io.RawIOBase):
    """A part of a file as a file of its own, read only. Reads by position: seeking back costs nothing."""

    def __init__(self, source: Source, offset: int, length: int) -> None:
        super().__init__()
        self._source, self._offset, self._length, self._position = source, offset, length, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._length}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._length - self._position))
        data = self._source.read(count, self._offset + self._position)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)


def sha256(source: Source, on_piece: Callable[[], None] = lambda: None, digest: Any = None) -> str:
    digest = digest or hashlib.sha256()
    for offset in range(0, source.size_bytes, PIECE_BYTES):
        digest.update(source.read(PIECE_BYTES, offset))
        on_piece()
    return str(digest.hexdigest())


def folder_files(folder: Path) -> list[Path]:
    """Every file under a folder in order of names. Symbolic links could lead anywhere and are refused."""
    files: list[Path] = []
    for root, folders, names in os.walk(folder, onerror=_unreadable):
        folders.sort()
        for name in (*folders, *names):
            path = Path(root, name)
            if path.is_symlink():
                raise Refused(
                    f"{str(path.relative_to(folder))!r} in it is a symbolic link. Copy the folder without links"
                )
        files += [Path(root, name) for name in names]
        if len(files) > MAX_FOLDER_FILES:
            raise Refused(f"it holds more than {MAX_FOLDER_FILES} files, far more than any SavedModel")
    return sorted(files)


def _unreadable(error: OSError) -> None:
    raise Refused(f"a folder in it may not be read ({error.strerror}). Give yourself read permission")


def folder_sha256(
    folder: Path, files: list[Path], on_piece: Callable[[], None], known: Mapping[Path, Source]
) -> tuple[str, int]:
    """One hash over names and contents, and the total size. Files that are `known` are not opened again: what was read
    is what is hashed."""
    digest, total = hashlib.sha256(), 0
    for path in files:
        if path not in known and path.stat().st_size == 0:
            digest.update(os.fsencode(path.relative_to(folder)) + b"\0empty")
            continue
        source = known.get(path) or open_source(path, follow=False)
        try:
            digest.update(os.fsencode(path.relative_to(folder)) + b"\0%d\0" % source.size_bytes)
            sha256(source, on_piece, digest)
            total += source.size_bytes
            source.check_unchanged()
        finally:
            if path not in known:
                source.close()
    return digest.hexdigest(), total
