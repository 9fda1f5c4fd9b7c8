"""How much disk space a child uses and how many threads it runs, observed from outside without its cooperation.

Counts the files in its folder and its open files without a name (deleted files, memory files): neither is part of its
resident memory, nor limited by the size of a single file. Of a deleted file that is no longer open but still mapped,
nobody but root learns the size.
"""

import errno
import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

LOOK_SECONDS = 0.25
MOST_ENTRIES = 100_000  # more are too many, whatever their size
# Of a folder nested deeper than any path can say, or that its owner may not list. No library makes one.
UNCOUNTABLE = (errno.ENAMETOOLONG, errno.EACCES)
BLOCK_BYTES = 512  # of st_blocks, on every system


@dataclass(frozen=True, slots=True)
class Use:
    """Attributes:
    unsized: Files whose size can't be known.
    hidden: There are folders that can't be looked into.
    """

    disk_bytes: int = 0
    files: int = 0
    unsized: int = 0
    threads: int = 0
    hidden: bool = False


class Footprint:
    """Looks at most four times a second, however often it is read."""

    def __init__(self, process: int, folder: Path) -> None:
        self._process, self._folder = process, folder
        self._looked = time.monotonic()
        self._last = Use()

    def read(self) -> Use:
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            held, files, hidden = _in_folder(self._folder)
            nameless = _nameless(self._process)
            unsized = _mapped(self._process, self._folder) - nameless.keys()
            self._last = Use(held + sum(nameless.values()), files, len(unsized), _threads(self._process), hidden)
            self._looked = now + (time.monotonic() - now)  # pause between looks at a slow disk too
        return self._last


def _in_folder(folder: Path) -> tuple[int, int, bool]:
    """Bytes and entries in it, and whether there are folders that can't be listed. Links are counted, not followed."""
    total = entries = 0
    waiting = [str(folder)]
    while waiting and entries <= MOST_ENTRIES:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    total += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    if entries > MOST_ENTRIES:
                        break
        except OSError as error:
            if error.errno in UNCOUNTABLE:
                return total, entries, True
    return total, entries, False


def _nameless(process: int) -> dict[tuple[int, int], int]:
    """Bytes of open files without a name, by device and number. Empty on systems without /proc."""
    found: dict[tuple[int, int], int] = {}
    try:
        open_files = os.listdir(f"/proc/{process}/fd")  # noqa: PTH208 - names are enough
    except OSError:
        return found
    for number in open_files:
        try:
            status = Path(f"/proc/{process}/fd/{number}").stat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and not status.st_nlink:
            found[status.st_dev, status.st_ino] = status.st_blocks * BLOCK_BYTES
    return found


def _mapped(process: int, folder: Path) -> set[tuple[int, int]]:
    """Files of the folder that were deleted and are mapped: device and number."""
    found: set[tuple[int, int]] = set()
    try:
        lines = Path(f"/proc/{process}/maps").read_bytes().splitlines()
    except OSError:
        return found
    beginning = os.fsencode(folder)
    for line in lines:
        if line.endswith(b"(deleted)") and beginning in line:
            _, _, _, device, number, _ = line.split(maxsplit=5)
            major, minor = (int(part, 16) for part in device.split(b":"))
            found.add((os.makedev(major, minor), int(number)))
    return found


def _threads(process: int) -> int:
    try:
        # The name in brackets may itself contain spaces and brackets, so split after the last bracket.
        return int(Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[17])
    except (OSError, IndexError, ValueError):
        return 0
