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


FILES = ("reads only its libraries and the model", "writes only in its own folder")
CALLS = ("changes no time stamps or permissions", "no network", "no other programs", "no signals to other processes")
BROKEN = {
    "reads only its libraries and the model": "it can read files outside its folder",
    "writes only in its own folder": "it can write outside its folder",
    "changes no time stamps or permissions": "it can change time stamps and permissions of files",
    "no network": "it can open sockets",
    "no other programs": "it can start programs",
    "no signals to other processes": "it can signal other processes",
    "no privileges": "it keeps privileges",
}


@needs_landlock
def test_that_what_is_in_force_is_told(ask):
    started = ask()[0]
    assert isinstance(started, Started)
    assert started.missing == ()
    assert started.sandbox == (*FILES, *CALLS, "no privileges")


@pytest.mark.parametrize("how", ["without", "pretending"])
@pytest.mark.parametrize(
    ("layers", "broken"),
    [
        (("landlock",), FILES),
        (("seccomp",), CALLS),
        (("landlock", "seccomp"), (*FILES, *CALLS)),
        (("landlock", "seccomp", "capabilities"), (*FILES, *CALLS, "no privileges")),
    ],
)
def test_that_the_report_is_true_whichever_layer_the_system_lacks(ask, how, layers, broken):
    """Also where a layer says that it is on and is not: what is told is what was tried."""
    if os.geteuid() != 0:
        broken = tuple(words for words in broken if words != "no privileges")
    started = ask(command=[*COMMAND, how, *layers])[0]
    assert set(started.sandbox) == BROKEN.keys() - set(broken)
    told = [words for words in started.missing if not words.startswith("here is no ")]
    assert set(told) == {BROKEN[words] for words in broken}
    assert len(started.missing) - len(told) == (how == "without")


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


SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "x",
    "HF_TOKEN": "x",
    "OPENAI_API_KEY": "x",
    "TF_VAR_password": "x",
    "TF_TOKEN_app_terraform_io": "x",
    "SSH_AUTH_SOCK": "/tmp/agent",
    "DATABASE_URL": "postgres://user:password@host",
    "GITHUB_TOKEN": "x",
    "KERAS_API_KEY": "x",
    "PLIMSOLL_ANYTHING": "x",
}


def test_that_a_worker_learns_no_secret_from_the_environment(monkeypatch):
    for name, value in {**SECRETS, "TF_GPU_ALLOCATOR": "cuda_malloc_async", "LC_ALL": "C.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    seen = result_of(Job(Do(what="environment"), command=COMMAND), dict[str, str])
    assert not SECRETS.keys() & seen.keys()
    assert (seen["TF_GPU_ALLOCATOR"], seen["LC_ALL"]) == ("cuda_malloc_async", "C.UTF-8")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("writes_many_files", "wrote more than the 32 MiB of files"),
        ("writes_removed_files", "wrote more than the 32 MiB of files"),
        ("fills_memory_files", "wrote more than the 32 MiB of files"),
        ("starts_threads", "threads, more than it was given"),
    ],
)
def test_that_a_worker_that_takes_too_much_is_stopped(what, said):
    limits = Limits(memory_bytes=GIB, seconds=60, disk_bytes=32 << 20, threads=100)
    last = list(Job(Do(what=what), limits, command=COMMAND))[-1]
    assert said in last.reason
