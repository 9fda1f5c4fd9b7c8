"""One training process under a supervisor: started, listened to, ended; nothing of it is left."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

from planner_app.errors import PlanError
from planner_app.files.writing import reason
from planner_app.train.recover.deaths import Death, death_of, kernel_kills

TAIL_BYTES = 64 << 10
READ_BYTES = 1 << 14
TERM_SECONDS = 15.0  # for a script that saves something when it is told to end
PR_SET_PDEATHSIG = 1


class TrainingProcess:
    """Its standard error is passed on, and its last words are kept; standard output is the terminal's own."""

    def __init__(self, command: Sequence[str], more: Mapping[str, str]) -> None:
        self._kills = kernel_kills()
        try:
            self._popen = subprocess.Popen(
                list(command),
                env={**os.environ, **more},
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=_die_with_parent if sys.platform == "linux" else None,
            )
        except OSError as error:
            raise PlanError(f"{command[0]!r} can't be started: {reason(error)}.") from error
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def process(self) -> int:
        return self._popen.pid

    def ended(self, seconds: float) -> bool:
        """Whether it has ended, after waiting for at most so long."""
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(seconds)
        return self._popen.returncode is not None

    def death(self) -> Death:
        """After it has ended; what it had started is ended too."""
        self._signal_all(signal.SIGKILL)
        self._reader.join(2.0)  # a grandchild may hold the pipe
        words = b"".join(self._tail).decode(errors="replace")
        return death_of(self._popen.returncode, words, kernel_kills() > self._kills)

    def pass_on(self, number: int) -> None:
        """A signal that the supervisor got."""
        self._signal_all(number)

    def end(self) -> None:
        """Asks first, because a script may save something."""
        self._signal_all(signal.SIGTERM)
        limit = time.monotonic() + TERM_SECONDS
        while not self.ended(0.1) and time.monotonic() < limit:
            pass
        self._signal_all(signal.SIGKILL)
        self._popen.wait()
        self._reader.join(2.0)

    def kill(self) -> None:
        self._signal_all(signal.SIGKILL)
        self._popen.wait()
        self._reader.join(2.0)

    def _signal_all(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, number)

    def _read(self) -> None:
        assert self._popen.stderr is not None
        with self._popen.stderr as source:
            while data := os.read(source.fileno(), READ_BYTES):
                with suppress(OSError, ValueError):
                    sys.stderr.buffer.write(data)
                    sys.stderr.buffer.flush()
                self._tail.append(data)
                self._tail_bytes += len(data)
                while self._tail_bytes - len(self._tail[0]) > TAIL_BYTES:
                    self._tail_bytes -= len(self._tail.popleft())


def _die_with_parent() -> None:
    """A supervisor that is killed must not leave a process that trains on beside the next one."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
