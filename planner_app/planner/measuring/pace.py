"""How far a measurement is, and how long it will still take: judged by what it has done so far."""

import time
from collections.abc import Callable

import msgspec

from planner_app.jobs.protocol import Progress


class Pace:
    """One clock for several processes that do the same."""

    def __init__(self, processes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._processes, self._clock = processes, clock
        self._began: float | None = None
        self._whole: list[float] = []  # seconds that each process took
        self._marks: list[float] = []  # of this process: when each step was over
        self._number = -1

    def telling(self, number: int, on_progress: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
        """What one process says, told with its number and with the time that is left."""
        now = self._clock()
        if self._began is not None:
            self._whole.append(now - self._began)
        self._began, self._marks, self._number = now, [now], number

        def tell(event: Progress) -> None:
            self._marks += [self._clock()] * len(event.results)
            if on_progress is None:
                return
            name = f"process {number + 1} of {self._processes}: " if self._processes > 1 else ""
            left = self.seconds_left(event.done, event.of)
            said = "" if left is None else f", about {in_words(left)} left"
            told = number * event.of + event.done, self._processes * event.of
            on_progress(msgspec.structs.replace(event, done=told[0], of=told[1], text=f"{name}{event.text}{said}"))

        return tell

    def seconds_left(self, done: int, of: int) -> float | None:
        """None before anything is known."""
        others = self._processes - self._number - 1
        elapsed = self._clock() - (self._began or self._clock())
        if self._whole:
            usual = sum(self._whole) / len(self._whole)
            return max(usual - elapsed, 0.0) + others * usual
        steps = [later - sooner for sooner, later in zip(self._marks[1:], self._marks[2:], strict=False)]
        if not steps:
            return None
        left = (of - done) * sum(steps) / len(steps)
        return left + others * (elapsed + left)


def in_words(seconds: float) -> str:
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
