"""A child's own folder: the only place it may write. It is removed when the child is gone.

    <temp>/plimsoll-worker-x1y2z3/lock    held by the parent; out of the child's reach
    <temp>/plimsoll-worker-x1y2z3/home    the child's HOME, TMPDIR and so on

Folders left by a parent that was killed are known by a lock that nobody holds.
"""

import atexit
import contextlib
import fcntl
import os
import secrets
import stat
import tempfile
import time
from pathlib import Path

PREFIX = "plimsoll-worker-"
YOUNG_SECONDS = 60.0  # a folder this new may belong to an instance that has not locked it yet


live: dict[Path, int] = {}  # folders in use, with the process that made it: one that was forked off is not to remove it


class Scratch:
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        live[self.folder] = os.getpid()
        self._lock: int | None = None
        self._removed = False
        self.home = self.folder / "home"
        try:
            self._lock = _lock(self.folder, os.O_CREAT)
            self.home.mkdir(mode=0o700)
        except OSError:  # a full disk
            self.remove()
            raise

    def remove(self) -> None:
        if not self._removed:
            self._removed = True
            remove_tree(self.folder)
            live.pop(self.folder, None)
            if self._lock is not None:
                os.close(self._lock)


@atexit.register
def remove_all() -> None:
    """Whatever moment the process was told to end at: between making a folder and having a child for it, say."""
    for folder in [folder for folder, process in live.items() if process == os.getpid()]:
        remove_tree(folder)


def sweep() -> None:
    """Remove the folders of parents that have ended."""
    for folder in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if status.st_uid != os.getuid() or time.time() - status.st_mtime < YOUNG_SECONDS:
                continue
            held = _lock(folder)  # no lock file, none of ours
            if held is not None:
                remove_tree(folder)
                os.close(held)


def remove_tree(folder: Path) -> None:
    """Whatever a child has left there; what can't be removed stays, for no job should fail over it."""
    with contextlib.suppress(OSError):
        top = _open_folder(folder)
        try:
            _empty(top)
        finally:
            os.close(top)
        folder.rmdir()


def _empty(top: int) -> None:
    """Folders in folders are moved to the top before they are emptied: a child may have nested them deeper than a path
    can say."""
    waiting = _without_files(top)
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(OSError):
            folder = _open_folder(name, top)
            try:
                for inner in _without_files(folder):
                    moved = secrets.token_hex()
                    os.rename(inner, moved, src_dir_fd=folder, dst_dir_fd=top)
                    waiting.append(moved)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)


def _without_files(folder: int) -> list[str]:
    """Remove all but the folders in it, and give their names."""
    folders = []
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.name, stat.S_IRWXU, dir_fd=folder)  # it may be closed even to its owner
                folders.append(entry.name)
            else:
                os.unlink(entry.name, dir_fd=folder)
    return folders


def _open_folder(path: Path | str, beside: int | None = None) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=beside)


def _lock(folder: Path, create: int = 0) -> int | None:
    descriptor = os.open(folder / "lock", os.O_RDWR | create | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
