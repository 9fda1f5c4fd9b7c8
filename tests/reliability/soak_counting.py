"""What the app holds while nothing goes on, for `soak.py`: none of it may grow."""

import collections
import ctypes
import gc
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from statistics import median

import psutil
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

FILES_OF_A_CHILD = 6  # three pipes, the lifeline, the lock of its folder, the selector
# What the later half of the counts may have more than the earlier one, in the middle of each.
MOST_GROWTH = {"mebibytes": 20.0, "threads": 0, "children": 0, "files": 0, "widgets": 0, "objects": 5}


@dataclass(frozen=True, slots=True)
class Count:
    """What the app holds when nothing is going on. `files` without those of workers that wait for more."""

    operations: int
    mebibytes: float
    threads: int
    children: int
    files: int
    widgets: int
    objects: int
    estimate: int
    kinds: dict[str, int] = field(repr=False)


def count(operations: int, estimate: int) -> Count:
    for _ in range(3):
        gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    workers = children()
    files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    kinds = collections.Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, QObject))
    return Count(
        operations=operations,
        mebibytes=round(psutil.Process().memory_info().rss / (1 << 20), 1),
        threads=threading.active_count(),
        children=max(0, len(workers) - 2),  # two may stay, for the next trace
        files=files - FILES_OF_A_CHILD * len(workers),
        widgets=len(QApplication.allWidgets()),
        objects=kinds.total(),
        estimate=estimate,
        kinds=dict(kinds),
    )


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def more(counts: Sequence[Count]) -> str:
    """Which objects there are more of than at the first count."""
    kinds = collections.Counter(counts[-1].kinds) - collections.Counter(counts[0].kinds)
    return "more of " + ", ".join(f"{kind} {many}" for kind, many in kinds.most_common(8)) if kinds else ""


def grown(counts: Sequence[Count]) -> list[str]:
    """What is more in the later half than in the earlier one, each by its median."""
    found, middle = [], len(counts) // 2
    for name, most in MOST_GROWTH.items():
        values = [getattr(count, name) for count in counts]
        growth = median(values[middle:]) - median(values[:middle])
        if growth > most:
            found.append(f"{name} +{growth:g}")
    if any(each.startswith("objects") for each in found):
        found.append(more(counts))
    if len({count.estimate for count in counts}) != 1:
        found.append("the estimate changed")
    return found


def table(counts: Sequence[Count]) -> str:
    names = [each.name for each in fields(Count) if each.repr]
    rows = [names, *([str(getattr(count, name)) for name in names] for count in counts)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(names))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
