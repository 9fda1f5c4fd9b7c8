"""A child's own folder: the only place it may write. It is removed when the child is gone.

    <temp>/plimsoll-worker-x1y2z3/lock    held by the parent; out of the child's reach
    <temp>/plimsoll-worker-x1y2z3/home    the child's HOME, TMPDIR and so on

Folders left by a parent that was killed are known by a lock that nobody holds.
"""

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "plimsoll-worker-"
YOUNG_SECONDS = 60.0  # a folder this new may belong to an instance that has not locked it yet


_live: dict[Path, int] = {}  # with the process that made it: one that was forked off is not to remove it


class Scratch:
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        _live[self.folder] = os.getpid()
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
            _live.pop(self.folder, None)
            if self._lock is not None:
                os.close(self._lock)


@atexit.register
def remove_all() -> None:
    """Whatever moment the process was told to end at: between making a folder and having a child for it, say."""
    for folder in [folder for folder, process in _live.items() if process == os.getpid()]:
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
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder, onerror=lambda _, path, __: _open_up(path))
        shutil.rmtree(folder, ignore_errors=True)


def _open_up(path: str) -> None:
    """A child may have left a folder that even its owner can't list."""
    with contextlib.suppress(OSError):
        parent = Path(path).parent
        parent.chmod(0o700)
        if not Path(path).is_symlink():
            Path(path).chmod(0o700)


def _lock(folder: Path, create: int = 0) -> int | None:
    descriptor = os.open(folder / "lock", os.O_RDWR | create | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
