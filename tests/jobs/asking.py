"""What the tests ask their children: `Do(what="spin")` runs `spin` of handlers.py in a real worker."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from planner_app.jobs.protocol import MIB, Limits, Request

AT_ONCE_SECONDS = 5.0  # where a job would go on for ten minutes; others use the machine too
COMMAND = [sys.executable, str(Path(__file__).with_name("child.py"))]


class Do(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    limits: ClassVar[Limits] = Limits(memory_bytes=512 * MIB, seconds=30)

    what: str
    number: int = 0
    text: str = ""
    read: tuple[str, ...] = ()

    def reads(self) -> tuple[str, ...]:
        return self.read


def wait_for(what: Callable[[], bool], seconds: float = 60.0) -> bool:
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def raw(code: str) -> list[str]:
    """A child that is none of ours: it has read the request and does as it likes. `say` writes to its stdout."""
    begin = (
        "import os, signal, sys, time, subprocess\n"
        "def say(text): os.write(1, text.encode())\n"
        'started = \'{"type":"Started"}\\n\'\n'
        'progress = \'{"type":"Progress","done":1,"of":2,"text":"half"}\\n\'\n'
        'finished = \'{"type":"Finished","result":1}\\n\'\n'
        "sys.stdin.readline()\n"
    )
    return [sys.executable, "-S", "-c", begin + code]
