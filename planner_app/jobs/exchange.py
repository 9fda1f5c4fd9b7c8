"""One request and its events, whatever the child does: it ends with exactly one last event."""

import os
import re
import signal
import threading
import time
from collections.abc import Generator

from planner_app.jobs.footprint import MOST_ENTRIES
from planner_app.jobs.process import Child
from planner_app.jobs.protocol import GIB, Failed, Finished, Limits, Progress, Started
from planner_app.jobs.stream import AnyEvent, EventReader, Trouble

TICK_SECONDS = 0.05  # how often limits and a request to cancel are looked at
THREADS_PER_PROCESSOR = 16  # TensorFlow has several pools of a thread for each
DYING_SECONDS = 0.5  # a process closes its pipes a moment before it is dead


class Exchange:
    """Talks with a child until the last event.

    Attributes:
        heard: The child has begun to answer.
        died: The child ended by itself, without a last event.
        broken: The child is no longer to be trusted, and has been ended.
    """

    def __init__(self, child: Child, limits: Limits, cancelled: threading.Event) -> None:
        self._child = child
        self._limits = limits
        self._cancelled = cancelled
        self._reader = EventReader()
        self.heard = False
        self.died = False
        self.broken = False

    def talk(self, line: bytes, *, last: bool) -> Generator[Started | Progress, None, Finished | Failed]:
        """Yields what comes before the last event and returns that one."""
        try:
            self._child.send(line, last=last)
            return (yield from self._listen())
        except Trouble as trouble:
            self.broken = True
            self._child.end()
            detail = "\n\n".join(filter(None, [trouble.detail, self._child.tail.text]))
            error = "Cancelled" if isinstance(trouble, _Stopped) else "WorkerError"
            return Failed(error=error, reason=str(trouble), detail=detail)

    def _listen(self) -> Generator[Started | Progress, None, Finished | Failed]:
        begun = spoke = time.monotonic()
        while True:
            gone = self._child.exited()  # asked before reading: what it wrote before it died is in the pipe by now
            data = self._child.pump(0 if gone else TICK_SECONDS)
            for event in self._events(data):
                spoke = time.monotonic()
                if isinstance(event, Finished | Failed):
                    return event
                yield event
            if self._child.output_closed or (gone and not data):
                raise self._last_words()
            self._check(begun, spoke)

    def _events(self, data: bytes) -> list[AnyEvent]:
        if not data:
            return []
        events = self._reader.feed(data)
        if events and not self.heard:
            if not isinstance(events[0], Started):
                raise Trouble("The worker answered before it was ready, and was stopped.", repr(events[0])[:200])
            self.heard = True
        return events

    def _check(self, begun: float, spoke: float) -> None:
        limits, now = self._limits, time.monotonic()
        if self._cancelled.is_set():
            raise _Stopped("Cancelled.")
        if now - begun > limits.seconds:
            raise Trouble(f"The worker ran longer than the {limits.seconds:g} s it was given and was stopped.")
        if limits.silence_seconds is not None and now - spoke > limits.silence_seconds:
            raise Trouble(f"The worker said nothing for {limits.silence_seconds:g} s: it hangs, and was stopped.")
        if self._child.memory.read() > limits.memory_bytes:
            raise Trouble(f"The worker needed more than the {gib(limits.memory_bytes)} it was given and was stopped.")
        self._check_footprint()
        self._child.tail.check()

    def _check_footprint(self) -> None:
        limits, used = self._limits, self._child.footprint.read()
        if used.disk_bytes > limits.disk_bytes or used.files > MOST_ENTRIES:
            most = (
                f"{gib(limits.disk_bytes)} of files" if used.disk_bytes > limits.disk_bytes else f"{MOST_ENTRIES} files"
            )
            raise Trouble(f"The worker wrote more than the {most} it was given and was stopped.")
        if used.threads > max(limits.threads, THREADS_PER_PROCESSOR * (os.cpu_count() or 1)):
            raise Trouble(f"The worker started {used.threads} threads, more than it was given, and was stopped.")

    def _last_words(self) -> Trouble:
        """The child will say no more. Why?"""
        if not self._child.leaves_within(DYING_SECONDS):
            return Trouble("The worker closed its output without an answer, and was stopped.")
        self._child.end()
        self.died = True
        lacking = re.search(r"No module named '([^']+)'", self._child.tail.text)
        if lacking and not self.heard:
            return Trouble(
                f"The worker's Python has no module {lacking[1]}: install it there with "
                f'pip install "plimsoll[tensorflow]".'
            )
        half = " in the middle of an answer" if self._reader.unfinished else " before it had an answer"
        return Trouble(how_it_ended(self._child.returncode, self._child.memory.peak_bytes) + half + ".")


class _Stopped(Trouble):
    """Not the child's fault."""


def how_it_ended(returncode: int | None, peak_bytes: int) -> str:
    if returncode is None or returncode >= 0:
        return f"The worker ended with exit code {returncode}"
    try:
        name = f" ({signal.Signals(-returncode).name})"
    except ValueError:
        name = ""
    killed = f"The worker, which held up to {gib(peak_bytes)}, was killed by signal {-returncode}{name}"
    if -returncode == signal.SIGKILL:
        return killed + ", by the system for want of memory or by somebody else,"
    return killed


def gib(count: int) -> str:
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / (1 << 20):.0f} MiB"
