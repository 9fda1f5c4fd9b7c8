"""The child's end of the pipes. They are moved out of everybody's way before any other code runs: what a layer prints,
in Python or in C, goes to stderr, and `input()` finds nothing to read."""

import os
import sys
import threading
from collections.abc import Iterator
from io import TextIOWrapper
from typing import BinaryIO

import msgspec

from planner_app.jobs.protocol import Event


class Requests:
    def __init__(self, descriptor: int) -> None:
        self._file: BinaryIO = os.fdopen(descriptor, "rb")

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._file)


class Events:
    """Writes events, one line each, from any thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._writing = threading.Lock()

    def send(self, event: Event) -> None:
        self.send_line(msgspec.json.encode(event))

    def send_line(self, line: bytes) -> None:
        rest = memoryview(line + b"\n")
        with self._writing:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]


def take() -> tuple[Requests, Events]:
    """Both pipes get new numbers, which no program that is started inherits."""
    requests, events = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    # Line by line, so that the last words before a crash are not lost in a buffer.
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    return Requests(requests), Events(events)
