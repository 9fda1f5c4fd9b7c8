"""Every file that plimsoll leaves behind is written here: the old file or the new one, never a part of one.

It is written beside its place under a name of its own, flushed to the disk, renamed, and the folder is flushed too.
While that lasts its process holds a lock on it: a file of that kind that nobody holds was left by a process that was
killed, and goes when another comes to write beside it.
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
PATIENCE_SECONDS = 5.0  # for another process that reads, changes and writes: it takes milliseconds, or hangs
LOOK_SECONDS = 0.01
OWNERS = 0o600
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_swept: set[str] = set()
_unkept: list[str] = []


def write_atomically(path: Path | str, data: bytes, *, private: bool = False) -> None:
    """Whatever is raised, the old file is whole and nothing lies beside it. What is `private` only its owner may read.

    A link is followed, permissions stay. What is no file, as /dev/stdout, has nothing to lose and is written to.
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
    """Before minutes are spent on what shall be written there.

    Raises:
        OSError: It can't be.
    """
    mode = _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if mode is None or stat.S_ISREG(mode):
        _drop(*_beside(os.path.realpath(path)))


def keep(path: Path, data: bytes) -> bool:
    """For what can be worked out again: whether it could be written. That it could not is known to `unkept`."""
    try:
        make_private_folder(path.parent)
        write_atomically(path, data, private=True)
    except OSError as error:
        if not _unkept:
            _unkept.append(f"{nothing_kept(path.parent, reason(error))} It is worked out anew next time.")
        return False
    return True


def make_private_folder(folder: Path) -> None:
    """Those above it are made as usual, if need be; those that are there stay as they are."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def unkept() -> str:
    """A sentence, where something could not be kept; said once."""
    return _unkept.pop() if _unkept else ""


def nothing_kept(folder: Path, why: str) -> str:
    if folder.is_relative_to(NOWHERE):
        return "Nothing can be kept: no home folder is known, set HOME."
    return f"Nothing can be kept in {folder}: {why}."


@contextmanager
def alone(folder: Path, seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Nobody else is in here with this folder, which is made if need be: for what is read, changed and written back.

    Raises:
        OSError: The folder can't be written, or another process does not come to an end with it.
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
    """Why nothing can be kept in a folder, which need not be there yet; empty if it can. Nothing is written."""
    there = next((each for each in (folder, *folder.parents) if os.path.lexists(each)), folder)
    if not there.is_dir():
        return os.strerror(errno.ENOTDIR).lower()
    if os.access(there, os.W_OK | os.X_OK):
        return ""
    read_only = os.statvfs(there).f_flag & os.ST_RDONLY
    return os.strerror(errno.EROFS if read_only else errno.EACCES).lower()


def reason(error: OSError) -> str:
    """As the end of a sentence."""
    text = error.strerror or str(error) or type(error).__name__
    return text[0].lower() + text[1:]


def sweep(folder: str) -> None:
    """Remove what processes that are no more left half written. A file in use is locked, and stays."""
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
    """A new file in the same folder, held by us."""
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
        os.close(descriptor)  # somebody swept it before it was locked


def _lock(descriptor: int, how: int = 0) -> bool:
    """Whether it is ours now. Where the file system knows no locks there is nobody to wait for."""
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
    """The new name reaches the disk too. Where that can't be had, the file is in its place all the same."""
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


def _write_into(path: Path | str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        _put(descriptor, data)
    finally:
        os.close(descriptor)
