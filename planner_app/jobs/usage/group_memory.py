"""The memory of a child and the processes it started, read from /proc, where a child can't hide it."""

import os
import time
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SEARCH_SECONDS = 0.5  # looking through all processes costs milliseconds, reading one costs microseconds


class GroupMemory:
    """Resident bytes of a process group; `peak_bytes` is the highest value read so far."""

    def __init__(self, group: int) -> None:
        self._group = group
        self._members = {group}
        self._searched = time.monotonic()
        self.peak_bytes = 0

    def read(self) -> int:
        """Zero on systems without /proc."""
        now = time.monotonic()
        if now - self._searched > SEARCH_SECONDS:
            self._members = {self._group, *members(self._group)}
            self._searched = now
        total = sum(resident_bytes(process) for process in self._members)
        self.peak_bytes = max(self.peak_bytes, total)
        return total


def resident_bytes(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_bytes().split()[1]) * PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return 0


def members(group: int) -> set[int]:
    """The processes of a group."""
    found: set[int] = set()
    try:
        processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names are enough
    except OSError:
        return found
    for process in processes:
        try:
            # The name in brackets may itself contain spaces and brackets, so split after the last bracket.
            fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[2]) == group:
                found.add(process)
        except (OSError, IndexError, ValueError):
            continue
    return found
