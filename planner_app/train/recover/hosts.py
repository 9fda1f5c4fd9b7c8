"""Supervisors of several hosts agree on a rung and a checkpoint before every try: JSON lines over TCP.

    ->  {"rank": 1, "rung": 0, "checkpoints": ["0.3", "0.4"]}       ready for the next try
    <-  {"go": 0, "checkpoint": "0.3"}                              all are ready: this rung, from this checkpoint
    ->  {"rank": 1, "end": "memory", "rung": 0, "reason": "..."}    my process has ended
    <-  {"stop": "memory", "rung": 0, "reason": "..."}              another's has: end yours, and be ready again
    <-  {"done": true}                                              all have finished

The first host's supervisor listens. A host that is gone for longer than `PATIENCE_SECONDS` ends the run.
"""

import json
import queue
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from planner_app.errors import PlanError
from planner_app.train.recover.run import NONE

PATIENCE_SECONDS = 300.0
MOST_LINE = 1 << 16
BETWEEN_TRIES = 0.5
APART = 1000  # from the port that TensorFlow uses

Message = dict[str, Any]


def default_port(address: str) -> int:
    port = int(address.rpartition(":")[2])
    return port + APART if port + APART < 1 << 16 else port - APART


class Connection:
    """Lines in a queue, as they come; None when the other side is gone."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self.lines: queue.Queue[Message | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, message: Message) -> None:
        with suppress(OSError):
            self._link.sendall(json.dumps(message).encode() + b"\n")

    def receive(self, seconds: float) -> Message | None:
        """The next line.

        Raises:
            queue.Empty: None came.
            PlanError: The other side is gone.
        """
        found = self.lines.get(timeout=seconds)
        if found is None:
            raise PlanError("The connection to the first host's supervisor is lost.")
        return found

    def close(self) -> None:
        with suppress(OSError):
            self._link.close()

    def _listen(self) -> None:
        with suppress(OSError, ValueError), self._link.makefile("rb") as lines:
            while line := lines.readline(MOST_LINE):
                read = json.loads(line)
                if isinstance(read, dict):
                    self.lines.put(read)
        self.lines.put(None)


class Leader:
    """On the first host: waits until all are ready, says go, and tells all when one has ended."""

    def __init__(self, address: str, port: int, hosts: int) -> None:
        self._hosts = hosts
        self._events: queue.Queue[tuple[int, Message | None]] = queue.Queue()
        self._connections: dict[int, Connection] = {}
        self._lock = threading.Lock()
        try:
            self._server = socket.create_server((address, port))
        except OSError as error:
            raise PlanError(
                f"The supervisors of several hosts meet at {address}:{port}, which can't be used ({error.strerror}): "
                "choose another port with --port."
            ) from error
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._lead, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                link, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(Connection(link),), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        rank = -1
        while True:
            message = connection.lines.get()
            if message is None:
                break
            if rank < 0 and isinstance(message.get("rank"), int) and 0 <= message["rank"] < self._hosts:
                rank = message["rank"]
                with self._lock:
                    self._connections[rank] = connection
            if rank >= 0:
                self._events.put((rank, message))
        if rank >= 0:
            self._events.put((rank, None))

    def _lead(self) -> None:
        ready: dict[int, Message] = {}
        finished: set[int] = set()
        running = False
        while True:
            rank, message = self._events.get()
            if message is None or "end" in message:
                ready.pop(rank, None)
                if message is not None and message["end"] == "finished":
                    finished.add(rank)
                    if len(finished) == self._hosts:
                        self._tell({"done": True})
                elif running:
                    running = False
                    finished.clear()
                    said = message or {"end": "peer", "reason": f"host {rank} is gone", "rung": 0}
                    self._tell({"stop": said["end"], "reason": said.get("reason", ""), "rung": said.get("rung", 0)})
                continue
            ready[rank] = message
            if len(ready) == self._hosts:
                rung = max(int(each.get("rung", 0)) for each in ready.values())
                self._tell({"go": rung, "checkpoint": common(each.get("checkpoints", ()) for each in ready.values())})
                ready.clear()
                running = True

    def _tell(self, message: Message) -> None:
        with self._lock:
            for connection in self._connections.values():
                connection.send(message)


def common(lists: Iterable[Iterable[str]]) -> str:
    """The newest checkpoint that all hosts have."""
    sets = [set(map(str, each)) for each in lists]
    shared = set.intersection(*sets) if sets else set()
    return max(shared, key=lambda name: tuple(int(part) for part in name.split(".")), default=NONE)


class Member:
    """A host's side of the agreement."""

    def __init__(self, rank: int, address: str, port: int) -> None:
        self._rank = rank
        self._connection = _connect(address, port)

    def agree(self, rung: int, checkpoints: list[str]) -> tuple[int, str]:
        """The rung and the checkpoint that all hosts take."""
        self._connection.send({"rank": self._rank, "rung": rung, "checkpoints": checkpoints})
        limit = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < limit:
            with suppress(queue.Empty):
                message = self._connection.receive(1.0)
                if message is not None and "go" in message:
                    return int(message["go"]), str(message["checkpoint"])
        raise PlanError(f"The other hosts were not ready within {PATIENCE_SECONDS:.0f} seconds.")

    def ended(self, end: str, rung: int, reason: str) -> None:
        self._connection.send({"rank": self._rank, "end": end, "rung": rung, "reason": reason})

    def told(self) -> Message | None:
        """What another host's end means for this one, if anything has come."""
        with suppress(queue.Empty):
            return self._connection.receive(0.01)
        return None

    def wait_done(self) -> Message:
        """After this host has finished: that all have, or that one has not."""
        while True:
            with suppress(queue.Empty):
                message = self._connection.receive(1.0)
                if message is not None and ("done" in message or "stop" in message):
                    return message

    def close(self) -> None:
        self._connection.close()


def _connect(address: str, port: int) -> Connection:
    limit = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            link = socket.create_connection((address, port), timeout=PATIENCE_SECONDS)
            link.settimeout(None)
            return Connection(link)
        except OSError as error:
            if time.monotonic() > limit:
                raise PlanError(
                    f"The first host's supervisor does not answer at {address}:{port} ({error.strerror or error})."
                ) from error
            time.sleep(BETWEEN_TRIES)
