"""This machine watched: who holds its memory and its GPUs', now and over a while."""

import threading
import time
from collections.abc import Iterator

from planner_app.core.doctor.moment import LARGEST_SHOWN, Look
from planner_app.errors import PlannerError
from planner_app.files.processes import exists, host_memory, largest, processes
from planner_app.gpu.nvml import machine_gpus

PAUSE_SECONDS = 5.0


def look(pid: int | None = None) -> Look:
    """Raises PlannerError where no such process runs."""
    if pid is not None and not exists(pid):
        raise PlannerError(f"No process {pid} runs on this machine: `ps aux` lists those that do.")
    return _look(pid)


def watch(first: Look, seconds: float, pid: int | None = None, stop: threading.Event | None = None) -> Iterator[Look]:
    """A look every few seconds, until the time is over, the process has ended, or `stop` is set."""
    stop = stop or threading.Event()
    pause = min(PAUSE_SECONDS, max(seconds / 10, 0.1))
    end = first.seconds + seconds
    while (left := end - time.monotonic()) > 0:
        if stop.wait(min(pause, left)):
            return
        yield _look(pid, [process.pid for process in first.processes])
        if pid is not None and not exists(pid):
            return


def _look(pid: int | None, known: list[int] | None = None) -> Look:
    machine = machine_gpus()
    on_gpus = [each.process for gpu in machine.gpus for part in (gpu.slices or (gpu,)) for each in part.processes or ()]
    watched = [*([pid] if pid is not None else []), *(known if known is not None else largest(LARGEST_SHOWN)), *on_gpus]
    return Look(time.monotonic(), machine, host_memory(), processes(watched, with_children=pid))
