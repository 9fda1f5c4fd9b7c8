"""What runs on a node: a function of ours, called in one of Ray's processes, and its events one by one.

The function starts ordinary workers, confined as always. They hang on a pipe to this process: however Ray ends it,
they are gone too.
"""

import importlib
import os
import platform
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from planner_app.errors import Cancelled, PlannerError
from planner_app.jobs.protocol import Failed, Finished, Progress

ALIVE_SECONDS = 5.0  # something is sent this often, so that a node that has stalled is noticed
LEAVE_SECONDS = 3.0  # a cancelled job is over within a second

Tell = Callable[[Progress], None]
Entry = Callable[[bytes, tuple[str, ...], Tell, threading.Event], Any]


def work(entry: str, request: bytes) -> Iterator[bytes]:
    """First the host's name; then events, the last one `Finished` or `Failed`; in between nothing, to say it lives."""
    import ray

    os.environ.pop("OMP_NUM_THREADS", None)  # set by Ray; results should be those of an ordinary process
    gpus = tuple(map(str, ray.get_gpu_ids()))
    events: queue.Queue[Progress | Finished | Failed] = queue.Queue()
    cancelled = threading.Event()
    thread = threading.Thread(target=_run, args=(entry, request, gpus, events, cancelled), daemon=True)
    thread.start()
    try:
        yield platform.node().encode()
        while True:
            try:
                event = events.get(timeout=ALIVE_SECONDS)
            except queue.Empty:
                yield b""
                continue
            yield msgspec.json.encode(event)
            if not isinstance(event, Progress):
                return
    finally:  # Ray interrupts it here when the work is stopped
        cancelled.set()
        thread.join(LEAVE_SECONDS)


def _run(
    entry: str,
    request: bytes,
    gpus: tuple[str, ...],
    events: "queue.Queue[Progress | Finished | Failed]",
    cancelled: threading.Event,
) -> None:
    module, _, name = entry.partition(":")
    try:
        function: Entry = getattr(importlib.import_module(module), name)
        result = function(request, gpus, events.put, cancelled)
        events.put(Finished(result=msgspec.Raw(msgspec.json.encode(result))))
    except Cancelled as stopped:
        events.put(Failed(error=Cancelled.__name__, reason=str(stopped)))
    except PlannerError as error:
        events.put(Failed(error=type(error).__name__, reason=str(error), detail=error.detail))
    except Exception as error:
        events.put(Failed(error="WorkerError", reason=f"{type(error).__name__}: {error}", detail=repr(error)))
