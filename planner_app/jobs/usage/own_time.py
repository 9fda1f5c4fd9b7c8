"""The time that a child had to itself, for limits on time and silence.

On a machine with too much to do a process waits for a processor most of the time. A limit that counted this would stop
healthy workers, and say that they hung.
"""

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

MOST_WAITING = 0.75  # of any time: a child whose threads keep each other waiting gets four times the limit, not more


@dataclass(frozen=True, slots=True)
class Moment:
    """Attributes:
    passed: Seconds on a clock that nobody can set.
    waited: Seconds that the child has been ready to run and was not running.
    """

    passed: float
    waited: float

    def since(self, earlier: "Moment") -> float:
        passed = self.passed - earlier.passed
        return passed - min(self.waited - earlier.waited, MOST_WAITING * passed)


class OwnTime:
    def __init__(self, process: int) -> None:
        self._path = Path(f"/proc/{process}/schedstat")
        self._waited = 0.0

    def now(self) -> Moment:
        """Where the system does not say how long a process waited, time as it passes."""
        with contextlib.suppress(OSError, IndexError, ValueError):
            self._waited = int(self._path.read_bytes().split()[1]) / 1e9
        return Moment(time.monotonic(), self._waited)
