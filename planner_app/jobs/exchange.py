"""One request and its events. Whatever the child does, there is exactly one last event."""

import os
import re
import signal
import threading
from collections.abc import Generator

from planner_app.jobs.process import Child
from planner_app.jobs.protocol import GIB, Failed, Finished, Limits, Progress, Started
from planner_app.jobs.stream import AnyEvent, EventReader, Trouble
from planner_app.jobs.usage.footprint import MOST_ENTRIES
from planner_app.jobs.usage.own_time import Moment

TICK_SECONDS = 0.05  # how often limits and cancellation are checked
THREADS_PER_PROCESSOR = 16  # TensorFlow has several thread pools, each with one thread per processor
DYING_SECONDS = 0.5  # a process closes its pipes a moment before it is dead


class Exchange:
    """Talks to a child until the last event.

    Attributes:
        answered: The child has begun to answer.
        died: The child exited without a last event.
        broken: The child can no longer be trusted, and was stopped.
    """

    def __init__(self, child: Child, limits: Limits, cancelled: threading.Event) -> None:
        self._child = child
        self._limits = limits
        self._cancelled = cancelled
        self._reader = EventReader()
        self.answered = False
        self.died = False
        self.broken = False

    def talk(self, line: bytes, *, last: bool) -> Generator[Started | Progress, None, Finished | Failed]:
        """Yields all events but the last and returns that one."""
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
        begun = spoke = self._child.own_time.now()
        while True:
            gone = self._child.exited()  # check before reading: what it wrote before it died is in the pipe by now
            data = self._child.pump(0 if gone else TICK_SECONDS)
            for event in self._events(data):
                spoke = self._child.own_time.now()
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
        if events and not self.answered:
            if not isinstance(events[0], Started):
                raise Trouble("The worker answered before it was ready, and was stopped.", repr(events[0])[:200])
            self.answered = True
        return events

    def _check(self, begun: Moment, spoke: Moment) -> None:
        limits, now = self._limits, self._child.own_time.now()
        if self._cancelled.is_set():
            raise _Stopped("Cancelled.")
        if now.since(begun) > limits.seconds:
            raise Trouble(
                f"The worker ran longer than the {round(limits.seconds, 1):g} s it was allowed and was stopped."
            )
        if limits.silence_seconds is not None and now.since(spoke) > limits.silence_seconds:
            raise Trouble(f"The worker sent nothing for {limits.silence_seconds:g} s: it hung and was stopped.")
        if self._child.memory.read() > limits.memory_bytes:
            raise Trouble(f"The worker needed more than the {gib(limits.memory_bytes)} it was allowed and was stopped.")
        self._check_footprint()
        self._child.tail.check()

    def _check_footprint(self) -> None:
        limits, used = self._limits, self._child.footprint.read()
        most_bytes = used.disk_bytes + used.unsized * limits.file_bytes
        if most_bytes > limits.disk_bytes or used.files > MOST_ENTRIES:
            most = f"{gib(limits.disk_bytes)} of files" if most_bytes > limits.disk_bytes else f"{MOST_ENTRIES} files"
            raise Trouble(f"The worker wrote more than the {most} it was allowed and was stopped.")
        if used.hidden:
            raise Trouble("The worker made folders that can't be looked into, and was stopped.")
        if used.threads > max(limits.threads, THREADS_PER_PROCESSOR * (os.cpu_count() or 1)):
            raise Trouble(f"The worker started {used.threads} threads, more than it was allowed, and was stopped.")

    def _last_words(self) -> Trouble:
        """Why the child sends no more."""
        if not self._child.leaves_within(DYING_SECONDS):
            return Trouble("The worker closed its output without an answer, and was stopped.")
        self._child.end()
        self.died = True
        lacking = re.search(r"No module named '([^']+)'", self._child.tail.text)
        if lacking and not self.answered:
            return Trouble(
                f"The worker's Python has no module {lacking[1]}: install it there with "
                f'pip install "plimsoll[tensorflow]".'
            )
        half = " in the middle of an answer" if self._reader.unfinished else " before it answered"
        return Trouble(how_it_ended(self._child.returncode, self._child.memory.peak_bytes) + half + ".")


class _Stopped(Trouble):
    """The child was stopped on request."""


def how_it_ended(returncode: int | None, peak_bytes: int) -> str:
    if returncode is None or returncode >= 0:
        return f"The worker ended with exit code {returncode}"
    try:
        name = f" ({signal.Signals(-returncode).name})"
    except ValueError:
        name = ""
    killed = f"The worker, which held up to {gib(peak_bytes)}, was killed by signal {-returncode}{name}"
    if -returncode == signal.SIGKILL:
        return killed + ", by the system because memory ran out, or by another program,"
    return killed


def gib(count: int) -> str:
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / (1 << 20):.0f} MiB"
