"""How much disk space a child uses and how many threads it runs, observed from outside without its cooperation.

Counts the files in its folder and its open files without a name (deleted files, memory files): neither is part of its
resident memory, nor limited by the size of a single file.
"""

import os
import stat
import time
from dataclasses import dataclass
from pathlib import Path

LOOK_SECONDS = 0.25
MOST_ENTRIES = 100_000  # more are too many, whatever their size
BLOCK_BYTES = 512  # of st_blocks, on every system


@dataclass(frozen=True, slots=True)
class Use:
    disk_bytes: int = 0
    files: int = 0
    threads: int = 0


class Footprint:
    """Looks at most four times a second, however often it is read."""

    def __init__(self, process: int, folder: Path) -> None:
        self._process, self._folder = process, folder
        self._looked = time.monotonic()
        self._last = Use()

    def read(self) -> Use:
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            held, files = _in_folder(self._folder)
            self._last = Use(held + _nameless_bytes(self._process), files, _threads(self._process))
            self._looked = now + (time.monotonic() - now)  # pause between looks at a slow disk too
        return self._last


def _in_folder(folder: Path) -> tuple[int, int]:
    """Bytes and entries in it. Links are counted, not followed."""
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
        except OSError:  # it is being removed, or the child has removed its permissions
            continue
    return total, entries


def _nameless_bytes(process: int) -> int:
    """Bytes of open files without a name. Zero on systems without /proc."""
    seen: dict[tuple[int, int], int] = {}
    try:
        open_files = os.listdir(f"/proc/{process}/fd")  # noqa: PTH208 - names are enough
    except OSError:
        return 0
    for number in open_files:
        try:
            found = Path(f"/proc/{process}/fd/{number}").stat()
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode) and not found.st_nlink:
            seen[found.st_dev, found.st_ino] = found.st_blocks * BLOCK_BYTES
    return sum(seen.values())


def _threads(process: int) -> int:
    try:
        # The name in brackets may itself contain spaces and brackets, so split after the last bracket.
        return int(Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[17])
    except (OSError, IndexError, ValueError):
        return 0
