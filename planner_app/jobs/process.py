"""One child process: its pipes, its folder, its end. Nobody waits for it without a limit, and nothing of it is left."""

import contextlib
import os
import selectors
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence

from planner_app.errors import WorkerError
from planner_app.files.writing import reason
from planner_app.jobs import launch
from planner_app.jobs import workdir as scratch
from planner_app.jobs.protocol import Limits
from planner_app.jobs.stream import Tail
from planner_app.jobs.usage.footprint import Footprint
from planner_app.jobs.usage.group_memory import GroupMemory
from planner_app.jobs.usage.own_time import OwnTime

READ_BYTES = 1 << 18
STEP_SECONDS = 0.01
TERM_SECONDS = 0.4  # a cancelled job is over within a second, even if the child ignores SIGTERM
KILL_SECONDS = 10.0  # a process in the kernel's hands (a stuck disk, a GPU driver) may not even obey SIGKILL

_swept = threading.Event()


class Child:
    """A worker that runs, or did. Used by one thread at a time, but for `kill`."""

    def __init__(
        self,
        command: Sequence[str],
        limits: Limits,
        *,
        gpu: bool = False,
        more: Mapping[str, str] | None = None,
        file: str | None = None,
    ) -> None:
        """`file` is handed over open, if there is a regular file of that name."""
        self._scratch = _own_folder()
        try:
            with _opened(file) as handed:
                self._popen, self._lifeline = _start(command, self._scratch, gpu, more, handed)
        except OSError as error:
            self._scratch.remove()
            raise WorkerError(f"The worker {command[0]!r} could not be started: {error.strerror}.") from error
        except BaseException:  # Ctrl-C, or a signal to end
            self._scratch.remove()
            raise
        self.tail = Tail()
        self.memory = GroupMemory(self._popen.pid)
        self.footprint = Footprint(self._popen.pid, self._scratch.home)
        self.own_time = OwnTime(self._popen.pid)
        self.output_closed = False
        self.ended = False
        self._reaping = threading.Lock()
        self._outbox = memoryview(b"")
        self._close_after = False
        self._selector = selectors.DefaultSelector()
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._stderr, selectors.EVENT_READ)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            launch.limit(self._popen.pid, limits)

    @property
    def process(self) -> int:
        return self._popen.pid

    def send(self, line: bytes, *, last: bool) -> None:
        """Hand over a line; `pump` does the writing. After the `last` one the child's stdin is closed."""
        self.tail = Tail()
        self._outbox = memoryview(line)
        self._close_after = last
        self._selector.register(self._stdin, selectors.EVENT_WRITE)

    def pump(self, seconds: float) -> bytes:
        """Move what can be moved through the pipes, waiting at most so long. Gives what came on stdout."""
        if not self._selector.get_map():
            time.sleep(min(seconds, STEP_SECONDS))
            return b""
        received = b""
        for key, _ in self._selector.select(seconds):
            if key.fd == self._stdout:
                received = self._read(key.fd)
            elif key.fd == self._stderr:
                self.tail.feed(self._read(key.fd))
            else:
                self._write()
        return received

    def exited(self) -> bool:
        """It is dead, though not yet reaped: its number, and its group's, can't have gone to another process."""
        if self.ended:
            return True
        try:
            return os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # the program we live in ignores SIGCHLD
            return True

    def rests(self) -> bool:
        """It lives, has heard all it was told and says nothing: it can be asked something else."""
        return not (self.exited() or self._outbox or self.pump(0) or self.output_closed)

    def leaves_within(self, seconds: float) -> bool:
        """Wait for it to exit by itself."""
        until = time.monotonic() + seconds
        while not self.exited():
            if time.monotonic() > until:
                return False
            self.pump(STEP_SECONDS)
        return True

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Signal the child and all it started. From any thread."""
        with self._reaping, contextlib.suppress(ProcessLookupError, PermissionError):
            if not self.ended:
                os.killpg(self._popen.pid, number)

    def end(self, patience_seconds: float = 0.0) -> None:
        """Have no child: wait, ask, kill; then reap it and clean up after it."""
        if self.ended:
            return
        if not self.leaves_within(patience_seconds):
            self.kill(signal.SIGTERM)
            self.leaves_within(TERM_SECONDS)
        self.kill()  # even if it has left: it may have started others
        gone = self.leaves_within(KILL_SECONDS)
        self._drain()
        with self._reaping:
            if gone:
                self._popen.wait()
            self.ended = True
        self._close()

    @property
    def returncode(self) -> int | None:
        """As `subprocess` has it: minus the signal that killed it; None if not even SIGKILL did."""
        return self._popen.returncode

    @property
    def _stdin(self) -> int:
        assert self._popen.stdin is not None
        return self._popen.stdin.fileno()

    @property
    def _stdout(self) -> int:
        assert self._popen.stdout is not None
        return self._popen.stdout.fileno()

    @property
    def _stderr(self) -> int:
        assert self._popen.stderr is not None
        return self._popen.stderr.fileno()

    def _read(self, descriptor: int) -> bytes:
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return b""
        if not data:
            self._selector.unregister(descriptor)
            self.output_closed = self.output_closed or descriptor == self._stdout
        return data

    def _write(self) -> None:
        try:
            self._outbox = self._outbox[os.write(self._stdin, self._outbox[:READ_BYTES]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it is dying, or closed its stdin: its stdout will tell
            self._outbox = memoryview(b"")
        if not self._outbox:
            self._selector.unregister(self._stdin)
            if self._close_after:
                assert self._popen.stdin is not None
                self._popen.stdin.close()

    def _drain(self) -> None:
        """The last words, if they are in the pipe already; a process that escaped may keep it open."""
        with contextlib.suppress(KeyError):
            for _ in range(8):
                if self._stderr not in self._selector.get_map():
                    break
                self.tail.feed(self._read(self._stderr))

    def _close(self) -> None:
        self._selector.close()
        for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        os.close(self._lifeline)
        self._scratch.remove()


@contextlib.contextmanager
def _opened(file: str | None) -> Iterator[tuple[int, ...]]:
    """Its number, or none: what can't be opened here the child will say more about."""
    descriptor = None
    with contextlib.suppress(OSError, ValueError):
        if file is not None:
            descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe is not waited for
    try:
        regular = descriptor is not None and stat.S_ISREG(os.fstat(descriptor).st_mode)
        yield (descriptor,) if regular and descriptor is not None else ()
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _own_folder() -> scratch.Scratch:
    try:
        if not _swept.is_set():
            _swept.set()
            scratch.sweep()
        return scratch.Scratch()
    except OSError as error:
        raise WorkerError(
            f"A worker needs a folder for its own files, and none can be made: {reason(error)}. Make room where "
            "temporary files are, or set TMPDIR to another folder."
        ) from error


def _start(
    command: Sequence[str], folder: scratch.Scratch, gpu: bool, more: Mapping[str, str] | None, handed: tuple[int, ...]
) -> tuple[subprocess.Popen[bytes], int]:
    """The process, and the end of a pipe that says we live: when it closes, whatever closed it, the child dies.

    PR_SET_PDEATHSIG would do so when the *thread* that started the child ends, and a warm worker outlives threads.
    """
    theirs, ours = os.pipe()
    given = {launch.FILE_VARIABLE: str(handed[0])} if handed else {}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            pass_fds=(theirs, *handed),
            env=launch.environment(folder.home, theirs, gpu=gpu, more=more) | given,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return process, ours
