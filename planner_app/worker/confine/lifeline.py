"""The worker dies with its parent, even if the parent was killed and even if a library hangs with Python's lock held:
the kernel itself is told to kill this process group when the parent's end of a pipe is closed."""

import contextlib
import fcntl
import os
import select
import signal

from planner_app.jobs.launch import LIFELINE_VARIABLE


def hold() -> None:
    """Where a signal can't be bound to a pipe (not Linux) the end of stdin ends the worker, if nothing hangs."""
    descriptor = int(os.environ.pop(LIFELINE_VARIABLE, "-1"))
    if descriptor < 0 or not hasattr(fcntl, "F_SETSIG"):
        return
    with contextlib.suppress(OSError):
        os.set_inheritable(descriptor, False)
        fcntl.fcntl(descriptor, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([descriptor], [], [], 0)[0]:  # closed before the signal was bound to it
            os.killpg(os.getpgrp(), signal.SIGKILL)
