"""A Ray cluster, from here:

with Cluster("auto") as cluster:
    cluster.nodes()
    for answer in cluster.run(works, cancelled):    # Heard, Again and Ended; each piece of work ends once
        show(answer)
"""

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import cast

import msgspec

from planner_app.errors import PlannerError, WorkerError
from planner_app.fleet.protocol import (
    Again,
    Answer,
    Asked,
    Connected,
    Ended,
    Heard,
    ListNodes,
    Node,
    Nodes,
    Refused,
    Stop,
    Submit,
    Work,
)
from planner_app.jobs.protocol import Failed
from planner_app.jobs.stream import Tail

HERE = "auto"  # the cluster that this machine belongs to
TICK_SECONDS = 0.1
CONNECT_SECONDS = 60.0
LAST_WORDS_SECONDS = 1.0  # for what a driver that has ended printed
STOP_SECONDS = 10.0  # for all nodes to stop; then the driver is killed, and Ray ends its work
LOGGED = re.compile(r"^\[[^]]*\] \S+:\d+: ")  # when and where Ray has written a line of its log
NOT_INSTALLED = 'Measuring on other machines needs Ray, which is not installed: pip install "plimsoll[ray]".'

_ANSWER: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


class Cluster:
    """Used by one thread at a time."""

    def __init__(self, address: str = HERE) -> None:
        """
        Raises:
            PlannerError: Ray is not installed.
        """
        if find_spec("ray") is None:
            raise PlannerError(NOT_INSTALLED)
        self.address = address

    def __enter__(self) -> "Cluster":
        root = str(Path(__file__).parents[2])
        self._answers: queue.Queue[Answer | None] = queue.Queue()
        self._driver = subprocess.Popen(
            [sys.executable, "-P", "-m", "planner_app.fleet.driver", self.address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us, and what follows from it
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))},
        )
        self._tail = Tail()
        self._printing = threading.Thread(target=self._read_tail, daemon=True)
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._printing.start()
        self._listening.start()
        first = self._next(CONNECT_SECONDS)
        if not isinstance(first, Connected):
            self._close(0.0)
            printed = self._printed()
            last = LOGGED.sub("", printed.rpartition("\n")[2]).partition(". ")[0][:200]
            reason = first.reason if isinstance(first, Refused) else last or "it did not answer"
            raise PlannerError(
                f"There is no Ray cluster to talk to at {self.address!r} ({reason}): start one with `ray start "
                "--head`, or name its address, as in --ray 10.0.0.5:6379.",
                printed,
            )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close(STOP_SECONDS)

    def nodes(self) -> tuple[Node, ...]:
        self._ask(ListNodes())
        found = self._next(CONNECT_SECONDS)
        if not isinstance(found, Nodes):
            raise self._gone()
        return found.nodes

    def run(self, works: Sequence[Work], cancelled: threading.Event | None = None) -> Iterator[Heard | Again | Ended]:
        """All that is heard, as it comes. Once `cancelled` is set, all of it is stopped within seconds.

        Raises:
            WorkerError: The cluster is gone. What has ended by then stays so.
        """
        open_ = {work.name for work in works}
        for work in works:
            self._ask(Submit(work=work))
        stop_by: float | None = None
        try:
            while open_:
                if stop_by is None and cancelled is not None and cancelled.is_set():
                    self._ask(Stop())
                    stop_by = time.monotonic() + STOP_SECONDS
                with suppress(queue.Empty):
                    answer = self._answers.get(timeout=TICK_SECONDS)
                    if answer is None:
                        raise self._gone()
                    if isinstance(answer, Ended):
                        open_.discard(answer.name)
                    yield cast(Heard | Again | Ended, answer)
                if stop_by is not None and time.monotonic() > stop_by:
                    self._close(0.0)
                    yield from (_stopped(name) for name in sorted(open_))
                    return
        except GeneratorExit:
            self._close(STOP_SECONDS)
            raise

    def _ask(self, asked: Asked) -> None:
        assert self._driver.stdin is not None
        try:
            self._driver.stdin.write(msgspec.json.encode(asked) + b"\n")
            self._driver.stdin.flush()
        except (OSError, ValueError) as error:
            raise self._gone() from error

    def _next(self, seconds: float) -> Answer | None:
        with suppress(queue.Empty):
            return self._answers.get(timeout=seconds)
        return None

    def _gone(self) -> WorkerError:
        return WorkerError(
            f"The Ray cluster at {self.address!r} has gone away. What was measured is kept: start it again and repeat "
            "the command to go on.",
            self._printed(),
        )

    def _printed(self) -> str:
        """The last that the driver printed."""
        self._printing.join(LAST_WORDS_SECONDS)
        return self._tail.text

    def _read_tail(self) -> None:
        assert self._driver.stderr is not None
        with suppress(OSError, ValueError), self._driver.stderr as stderr:
            for line in stderr:
                self._tail.feed(line)

    def _listen(self) -> None:
        assert self._driver.stdout is not None
        with suppress(OSError, ValueError, msgspec.MsgspecError), self._driver.stdout as stdout:
            for line in stdout:
                self._answers.put(_ANSWER.decode(line))
        self._answers.put(None)

    def _close(self, seconds: float) -> None:
        """The driver stops everything when its input ends."""
        with suppress(OSError):
            assert self._driver.stdin is not None
            self._driver.stdin.close()
        try:
            self._driver.wait(seconds)
        except subprocess.TimeoutExpired:
            self._driver.kill()
            self._driver.wait()
        self._listening.join(LAST_WORDS_SECONDS)
        self._printing.join(LAST_WORDS_SECONDS)


def _stopped(name: str) -> Ended:
    return Ended(name=name, node="", event=Failed(error="Cancelled", reason="Cancelled."))
