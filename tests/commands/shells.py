"""A shell at a terminal: keys go in, and what is on the screen comes out."""

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

SECONDS = 60.0  # a limit, not a wait: each answer is waited for by what it looks like
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\x1b\][^\x07]*\x07|\x07")
DONE = "that-is-done"


class Terminal:
    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._ours, theirs = pty.openpty()
        environment = {"TERM": "xterm", "PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}
        self._shell = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment, start_new_session=True
        )
        os.close(theirs)
        self._shown = ""

    def run(self, line: str) -> None:
        """A command, to its end. The mark is typed in two parts, so that its echo is not taken for it."""
        self.type(f"{line}; echo {DONE[:3]}''{DONE[3:]}\r")
        self.until(DONE)

    def type(self, keys: str) -> None:
        self._shown = ""
        os.write(self._ours, keys.encode())

    def until(self, pattern: str) -> str:
        end = time.monotonic() + SECONDS
        while not re.search(pattern, self._shown):
            left = end - time.monotonic()
            assert left > 0, f"{pattern!r} was never shown, but {self._shown!r}"
            if select.select([self._ours], [], [], left)[0]:
                self._shown += ESCAPES.sub("", os.read(self._ours, 65536).decode("utf-8", "replace"))
        return self._shown

    def close(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._ours)
