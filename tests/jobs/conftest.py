import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from asking import COMMAND, Do

from planner_app.jobs.job import Job
from planner_app.jobs.protocol import Failed, Finished, Limits
from planner_app.jobs.stream import AnyEvent


def wait_for(what: Callable[[], bool], seconds: float = 5.0) -> bool:
    until = time.monotonic() + seconds
    while not what():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


@pytest.fixture
def ask() -> Callable[..., list[AnyEvent]]:
    """All events of one job; the last of them, and only it, is a last one."""

    def ask(
        request: Do | str = "echo", *, limits: Limits | None = None, command: list[str] = COMMAND
    ) -> list[AnyEvent]:
        request = Do(what=request) if isinstance(request, str) else request
        events = list(Job(request, limits, command=command))
        assert [isinstance(event, Finished | Failed) for event in events] == [False] * (len(events) - 1) + [True]
        return events

    return ask


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Every test: no process, no zombie, no pipe, no folder remains."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    open_before = len(os.listdir("/proc/self/fd"))
    yield
    assert children() == []
    assert len(os.listdir("/proc/self/fd")) == open_before
    assert list(scratch.iterdir()) == []
