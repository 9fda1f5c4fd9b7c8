"""Writes every file that plimsoll leaves behind, atomically: a reader sees the old file or the new one.

The data goes to a temporary file in the same folder, which is flushed to disk and renamed; then the folder is flushed.
Meanwhile the process holds a lock on the temporary file. One without a lock was left by a process that was killed, and
is removed by the next process that writes to the folder.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planner_app.files.home import NOWHERE
from planner_app.units import format_bytes

BEGIN, END = ".plimsoll-", ".tmp"
LOCK = ".plimsoll-lock"
PATIENCE_SECONDS = 5.0  # for another process to finish its update, which takes milliseconds unless it hangs
READER_SECONDS = 10.0  # for a pipe, as when one is read
LOOK_SECONDS = 0.01
OWNERS = 0o600
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_swept: set[str] = set()
_unkept: list[str] = []


def write_atomically(path: Path | str, data: bytes, *, private: bool = False) -> None:
    """On any error the old file stays intact and nothing else is left. Only the owner may read a `private` file.

    Links are followed and permissions kept. Anything but a regular file, such as /dev/stdout, is written directly.
    """
    mode = _mode(path)
    try:
        if mode is not None and not stat.S_ISREG(mode):
            _write_into(path, data)
        else:
            _replace(os.path.realpath(path), data, OWNERS if private and mode is None else mode)
    except OSError as error:
        if error.errno in NO_SPACE:
            raise OSError(error.errno, f"{error.strerror}, {format_bytes(len(data))} needed", str(path)) from error
        raise


def check_writable(path: Path | str) -> None:
    """Check before minutes are spent on what will be written there.

    Raises:
        OSError: It is not writable.
    """
    mode = _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if mode is None or stat.S_ISREG(mode):
        _drop(*_beside(os.path.realpath(path)))


def keep(path: Path, data: bytes) -> bool:
    """Write what can be recomputed. Returns whether that worked; if not, `unkept` says why."""
    try:
        make_private_folder(path.parent)
        write_atomically(path, data, private=True)
    except OSError as error:
        if not _unkept:
            _unkept.append(f"{nothing_kept(path.parent, reason(error))} It will be recomputed next time.")
        return False
    return True


def make_private_folder(folder: Path) -> None:
    """Missing parent folders are made with the usual permissions; existing ones stay as they are."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def unkept() -> str:
    """A sentence if something could not be written; returned once."""
    return _unkept.pop() if _unkept else ""


def nothing_kept(folder: Path, why: str) -> str:
    if folder.is_relative_to(NOWHERE):
        return "Nothing can be saved because the home folder is unknown: set HOME."
    return f"Nothing can be saved in {folder}: {why}."


@contextmanager
def alone(folder: Path, seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Lock the folder, creating it if needed, for a change that reads and writes back.

    Raises:
        OSError: The folder can't be written, or another process does not release it.
    """
    make_private_folder(folder)
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        until = time.monotonic() + seconds
        while not _lock(descriptor, fcntl.LOCK_NB):
            if time.monotonic() > until:
                raise BlockingIOError(errno.EAGAIN, "another plimsoll is writing there", str(folder))
            time.sleep(LOOK_SECONDS)
        yield
    finally:
        os.close(descriptor)


def why_not(folder: Path) -> str:
    """Why nothing can be saved in a folder, which need not exist yet; empty if it can. Writes nothing."""
    there = next((each for each in (folder, *folder.parents) if os.path.lexists(each)), folder)
    if not there.is_dir():
        return os.strerror(errno.ENOTDIR).lower()
    if os.access(there, os.W_OK | os.X_OK):
        return ""
    read_only = os.statvfs(there).f_flag & os.ST_RDONLY
    return os.strerror(errno.EROFS if read_only else errno.EACCES).lower()


def reason(error: OSError) -> str:
    """The error in words that can end a sentence."""
    text = error.strerror or str(error) or type(error).__name__
    return text[0].lower() + text[1:]


def sweep(folder: str) -> None:
    """Remove temporary files that dead processes left. A file in use is locked, and stays."""
    with contextlib.suppress(OSError):
        left = [each.path for each in os.scandir(folder) if each.name.startswith(BEGIN) and each.name.endswith(END)]
        for name in left:
            with contextlib.suppress(OSError):
                descriptor = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(name)  # noqa: PTH108
                finally:
                    os.close(descriptor)


def _replace(place: str, data: bytes, mode: int | None) -> None:
    descriptor, name = _beside(place)
    try:
        if mode is not None:
            with contextlib.suppress(OSError):  # a file system without permissions
                os.fchmod(descriptor, stat.S_IMODE(mode))
        _put(descriptor, data)
        os.fsync(descriptor)
        os.rename(name, place)  # noqa: PTH104
    except BaseException:
        _drop(descriptor, name)
        raise
    _flush_folder(os.path.dirname(place))  # noqa: PTH120
    os.close(descriptor)


def _beside(place: str) -> tuple[int, str]:
    """A new, locked file in the same folder."""
    folder = os.path.dirname(place)  # noqa: PTH120
    if folder not in _swept:
        _swept.add(folder)
        sweep(folder)
    while True:
        name = os.path.join(folder, f"{BEGIN}{secrets.token_hex(8)}{END}")  # noqa: PTH118
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        _lock(descriptor)
        if os.fstat(descriptor).st_nlink:
            return descriptor, name
        os.close(descriptor)  # another process removed it before it was locked


def _lock(descriptor: int, how: int = 0) -> bool:
    """Whether the lock was taken. A file system without locks counts as yes."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | how)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _put(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _drop(descriptor: int, name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name)  # noqa: PTH108
    os.close(descriptor)


def _flush_folder(folder: str) -> None:
    """Flush the new name to disk too. If that is not possible, the file is in place all the same."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _mode(path: Path | str) -> int | None:
    try:
        return Path(path).stat().st_mode
    except FileNotFoundError:
        return None


def _opened(path: Path | str) -> int:
    """A named pipe that nobody reads from can't be opened; its reader may come a moment later."""
    until = time.monotonic() + READER_SECONDS
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > until:
                raise TimeoutError(errno.ETIMEDOUT, "nothing is reading from it", str(path)) from None
        time.sleep(LOOK_SECONDS)


def _write_into(path: Path | str, data: bytes) -> None:
    descriptor = _opened(path)
    try:
        os.set_blocking(descriptor, True)
        _put(descriptor, data)
    finally:
        os.close(descriptor)
