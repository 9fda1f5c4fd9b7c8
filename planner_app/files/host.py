"""The host's memory, read from the system's files. Standard library only, since training scripts use it too."""

from contextlib import suppress
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """The memory available to new programs, within a container's limit; None if unknown."""
    found = []
    with suppress(OSError, ValueError, KeyError):
        said = dict(line.split(":", 1) for line in MEMINFO.read_text(encoding="ascii").splitlines())
        found.append(int(said["MemAvailable"].split()[0]) << 10)
    with suppress(OSError, ValueError):
        limit = (CONTAINER / "memory.max").read_text(encoding="ascii").strip()
        if limit != "max":
            found.append(max(0, int(limit) - int((CONTAINER / "memory.current").read_text(encoding="ascii"))))
    return min(found) if found else None
