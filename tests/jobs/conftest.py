import gc
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asking import COMMAND, Do
from processes import Children

from planner_app.jobs.job import Job
from planner_app.jobs.protocol import Failed, Finished, Limits
from planner_app.jobs.stream import AnyEvent


@pytest.fixture(autouse=True, scope="module")
def old_objects_are_left_alone() -> Iterator[None]:
    """Looking for what a test has left goes through all there is otherwise: what other folders' tests imported."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def open_files() -> set[tuple[str, str]]:
    """What earlier tests left to the collector is closed first: it would go at any moment."""
    gc.collect()
    return {(file.name, str(file.readlink())) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()}


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
def nothing_is_left(children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Every test: no process, no zombie, no pipe, no folder remains."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    open_before = open_files()
    yield
    assert children() == []
    assert open_files() <= open_before
    assert list(scratch.iterdir()) == []
