"""Processes and memory of this machine, as Linux' own files tell them. What can't be read is left out."""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from planner_app.core.doctor.moment import HostMemory, Process
from planner_app.files.host import CONTAINER, MEMINFO

PROC = Path("/proc")
# Of another program's variables only those are read that steer memory: others may hold secrets.
STEERING = frozenset(
    "CUDA_VISIBLE_DEVICES TF_GPU_ALLOCATOR TF_FORCE_GPU_ALLOW_GROWTH TF_FORCE_UNIFIED_MEMORY KERAS_BACKEND "
    "XLA_PYTHON_CLIENT_PREALLOCATE XLA_PYTHON_CLIENT_MEM_FRACTION XLA_PYTHON_CLIENT_ALLOCATOR".split()
)
LONGEST_NAME = 80
NO_LIMIT_BYTES = 1 << 60  # what the first version of control groups writes for "none" is larger
_KIB = 1024


def exists(pid: int) -> bool:
    return (PROC / str(pid)).is_dir()


def largest(count: int) -> list[int]:
    """The processes that hold the most of the machine's memory."""
    found = sorted(((_resident(pid), pid) for pid in _pids()), reverse=True)
    return [pid for _, pid in found[:count]]


def processes(pids: Iterable[int], with_children: int | None = None) -> tuple[Process, ...]:
    """Those of `pids` that still run, the largest first. Of one of them its children count with it."""
    of_parent = _children() if with_children is not None else {}
    found = []
    for pid in dict.fromkeys(pids):
        children = tuple(_below(pid, of_parent)) if pid == with_children else ()
        if (process := _process(pid, children)) is not None:
            found.append(process)
    return tuple(sorted(found, key=lambda process: -process.resident_bytes))


def host_memory() -> HostMemory:
    said = _table(MEMINFO)
    limit, used = _group_limit(CONTAINER, CONTAINER / "memory")
    return HostMemory(
        total_bytes=said.get("MemTotal"),
        available_bytes=said.get("MemAvailable"),
        swap_bytes=said.get("SwapTotal", 0),
        swap_free_bytes=said.get("SwapFree", 0),
        limit_bytes=limit,
        limited_bytes=used if limit is not None else None,
    )


def _process(pid: int, children: tuple[int, ...]) -> Process | None:
    said = _table(PROC / str(pid) / "status")
    if not said and not exists(pid):
        return None
    below = [_table(PROC / str(child) / "status") for child in children]
    return Process(
        pid=pid,
        name=_name(pid),
        user=_user(pid),
        resident_bytes=sum(each.get("VmRSS", 0) for each in (said, *below)),
        swapped_bytes=sum(each.get("VmSwap", 0) for each in (said, *below)),
        limit_bytes=_limit_of(pid),
        children=children,
        settings=_settings(pid),
    )


def _name(pid: int) -> str:
    """The script of a Python process, otherwise the program: arguments may hold secrets and are not shown."""
    with suppress(OSError):
        words = (PROC / str(pid) / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        program = words[0].rpartition("/")[2]
        script = next((word for word in words[1:6] if word.endswith(".py")), "")
        if not script and len(words) > 2 and words[1] == "-m":
            script = words[2]
        return " ".join(filter(None, (program, script.rpartition("/")[2])))[:LONGEST_NAME] or _command(pid)
    return _command(pid)


def _command(pid: int) -> str:
    with suppress(OSError):
        return (PROC / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
    return "unknown"


def _user(pid: int) -> str:
    with suppress(OSError, KeyError, ImportError):
        import pwd

        return pwd.getpwuid((PROC / str(pid)).stat().st_uid).pw_name
    return ""


def _settings(pid: int) -> dict[str, str]:
    with suppress(OSError):
        pairs = (PROC / str(pid) / "environ").read_bytes().decode("utf-8", "replace").split("\0")
        return {
            name: value[:LONGEST_NAME] for name, _, value in (pair.partition("=") for pair in pairs) if name in STEERING
        }
    return {}


def _limit_of(pid: int) -> int | None:
    """Of the control group that the process is in, and of those around it."""
    with suppress(OSError, ValueError):
        for line in (PROC / str(pid) / "cgroup").read_text(encoding="ascii", errors="replace").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "" or "memory" in controllers.split(","):
                root = CONTAINER if controllers == "" else CONTAINER / "memory"
                folder = root / path.strip("/")
                limits = [
                    _group_limit(each, each)[0] for each in (folder, *folder.parents) if root in (each, *each.parents)
                ]
                if known := [limit for limit in limits if limit is not None]:
                    return min(known)
    return None


def _group_limit(second: Path, first: Path) -> tuple[int | None, int | None]:
    """Limit and use, by the second version of control groups or the first."""
    for folder, limit, use in (
        (second, "memory.max", "memory.current"),
        (first, "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):
            written = (folder / limit).read_text(encoding="ascii").strip()
            if written != "max" and int(written) < NO_LIMIT_BYTES:
                return int(written), int((folder / use).read_text(encoding="ascii"))
    return None, None


def _pids() -> Iterator[int]:
    with suppress(OSError):
        yield from (int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal())


def _resident(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        return int((PROC / str(pid) / "statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _children() -> dict[int, list[int]]:
    found = defaultdict(list)
    for pid in _pids():
        with suppress(OSError, ValueError, IndexError):
            stat = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
            found[int(stat.rpartition(")")[2].split()[1])].append(pid)
    return found


def _below(pid: int, of_parent: dict[int, list[int]]) -> Iterator[int]:
    waiting, seen = list(of_parent.get(pid, ())), {pid}
    while waiting:
        child = waiting.pop()
        if child not in seen:
            seen.add(child)
            yield child
            waiting += of_parent.get(child, ())


def _table(path: Path) -> dict[str, int]:
    """`Name:   123 kB` lines, in bytes."""
    found = {}
    with suppress(OSError):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            words = value.split()
            if len(words) == 2 and words[1] == "kB" and words[0].isdecimal():
                found[name] = int(words[0]) * _KIB
    return found
