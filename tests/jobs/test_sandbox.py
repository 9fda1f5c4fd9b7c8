"""What a worker can't do, tried from inside one."""

import os
from pathlib import Path

import pytest
from asking import COMMAND, Do, Execute

from planner_app.jobs import launch
from planner_app.jobs.job import Job, result_of
from planner_app.jobs.protocol import GIB, Limits, Started
from planner_app.jobs.warm import WarmWorker


def has_landlock() -> bool:
    from planner_app.worker.confine import landlock

    try:
        return landlock.version() >= 3
    except OSError:
        return False


needs_landlock = pytest.mark.skipif(not has_landlock(), reason="needs Landlock 3 (Linux 6.2)")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("secret")
    return folder


@needs_landlock
def test_that_every_way_out_is_closed_and_what_is_needed_is_open(tmp_path, outside):
    model = tmp_path / "a model.keras"
    model.write_text("x")
    code = tmp_path / "code"
    code.mkdir()
    request = Do(what="breaks_out", text=str(outside), read=(str(model), str(code)))
    ways = result_of(Job(request, command=COMMAND), dict)
    refused = {way for way, outcome in ways.items() if outcome == "PermissionError"}
    assert {way for way, outcome in ways.items() if outcome == "it worked"} == {
        "own folder",
        "named file",
        "named folder",
        "thread",
    }
    assert refused == ways.keys() - {"own folder", "named file", "named folder", "thread"}
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"


@needs_landlock
def test_that_what_is_in_force_is_told(ask):
    started = ask()[0]
    assert isinstance(started, Started)
    assert started.missing == ()
    assert [words.partition(" (")[0] for words in started.sandbox] == [
        "reads only its libraries and the model, writes only its own folder",
        "no network",
        "no other programs, no signals",
    ]


def test_that_a_system_without_a_sandbox_is_told(ask):
    started = ask(command=[*COMMAND, "without"])[0]
    assert started.sandbox == ()
    assert [words.partition(":")[0] for words in started.missing] == [
        "files are not guarded",
        "network and programs are not guarded",
    ]


def test_that_a_sandbox_that_does_not_hold_is_found_out(ask):
    started = ask(command=[*COMMAND, "pretending"])[0]
    assert started.missing == (
        "Landlock does not hold: a file was written outside",
        "Landlock does not hold: a folder was listed outside",
        "seccomp does not hold: a socket was opened",
    )


@needs_landlock
def test_that_a_request_that_needs_programs_can_start_the_systems_but_none_of_its_own():
    answer = result_of(Job(Execute(what="runs_programs"), command=COMMAND), dict)
    assert answer == {"said": "hello\n", "own": "PermissionError", "socket": "PermissionError"}


@needs_landlock
def test_that_a_warm_worker_stays_in_its_sandbox(outside):
    with WarmWorker(COMMAND) as worker:
        worker.run(Do(what="echo"), dict)
        request = Do(what="breaks_out", text=str(outside))
        # No files are named here, so the last lines of the deed fail with an IndexError: the sandbox is asked first.
        events = list(worker.job(request))
    assert "IndexError" in events[-1].reason
    assert [path.name for path in outside.iterdir()] == ["secret"]


@needs_landlock
def test_that_keras_trains_in_the_sandbox_and_its_threads_can_not_write_outside(outside):
    limits = Limits(memory_bytes=3 * GIB, seconds=120)
    answer = result_of(Job(Do(what="trains", text=str(outside)), limits, command=COMMAND), dict)
    assert answer == {"params": 10, "refused": 16}
    assert [path.name for path in outside.iterdir()] == ["secret"]


def test_that_the_child_has_a_folder_of_its_own_for_everything(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    seen = result_of(Job(Do(what="environment"), command=COMMAND), dict[str, str])
    home = seen["HOME"]
    assert home != os.environ.get("HOME")
    assert {seen[name] for name in ("TMPDIR", "KERAS_HOME", "XDG_CACHE_HOME", "CUDA_CACHE_PATH")} == {home}
    assert not Path(home).exists()
    assert (seen["KERAS_BACKEND"], seen["HDF5_PLUGIN_PRELOAD"]) == ("tensorflow", "::")
    assert (seen["CUDA_VISIBLE_DEVICES"], seen["TF_CPP_MIN_LOG_LEVEL"]) == ("-1", "3")


def test_that_a_worker_for_the_gpus_sees_them(tmp_path):
    seen = launch.environment(tmp_path, 3, gpu=True, inherited={"CUDA_VISIBLE_DEVICES": "0,1"})
    assert seen["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_that_a_file_in_the_users_folder_is_not_taken_for_a_library(tmp_path, monkeypatch):
    (tmp_path / "msgspec.py").write_text("raise SystemExit('a stranger was imported')")
    monkeypatch.chdir(tmp_path)
    from planner_app.jobs.protocol import Inspect

    events = list(Job(Inspect(path="none.keras")))
    assert isinstance(events[0], Started)
