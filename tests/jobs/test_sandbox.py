"""What a worker can't do, tried from inside one."""

import json
import os
import subprocess
import sys
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from asking import COMMAND, Do

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


OPEN = {"own folder", "named file", "named folder", "thread", "pair of streams"}  # what a worker needs
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
    assert {way for way, outcome in ways.items() if outcome == "it worked"} == OPEN
    assert refused == ways.keys() - OPEN
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"


# A promise, what is said if it does not hold, and the layers each of which is enough for it.
PROMISES = {
    "reads only its libraries and the model": ("it can read files outside its folder", {"landlock"}),
    "writes only in its own folder": ("it can write outside its folder", {"landlock", "namespaces"}),
    "changes no time stamps or permissions": (
        "it can change time stamps and permissions of files",
        {"seccomp", "namespaces"},
    ),
    "no network": ("it can open sockets", {"seccomp"}),
    "no other programs": ("it can start programs", {"seccomp"}),
    "no signals to other processes": ("it can signal other processes", {"seccomp"}),
    "no privileges": ("it keeps privileges", {"capabilities"}),
}
LAYERS = ("landlock", "seccomp", "namespaces", "capabilities")
COMBINATIONS = [off for count in range(5) for off in combinations(LAYERS, count)]
TRY_NAMESPACES = (
    "import sys, tempfile; from planner_app.worker.confine import namespaces; "
    "namespaces.apply(sys.path[1:], tempfile.mkdtemp())"
)


@cache
def has_namespaces() -> bool:
    return subprocess.run([sys.executable, "-c", TRY_NAMESPACES], capture_output=True, check=False).returncode == 0


@needs_landlock
def test_that_active_protections_are_reported(ask):
    started = ask()[0]
    assert isinstance(started, Started)
    assert started.missing == ()
    assert started.sandbox == tuple(PROMISES)


@needs_landlock
@pytest.mark.parametrize("how", ["without", "pretending"])
@pytest.mark.parametrize("off", COMBINATIONS, ids=lambda off: "+".join(off) or "none")
def test_that_the_report_is_true_whichever_layers_the_system_lacks(ask, how, off):
    """Also where a layer says that it is on and is not: what is told is what was tried."""
    started = ask(command=[*COMMAND, how, *off])[0]
    there = set(LAYERS) - set(off) - (set() if has_namespaces() else {"namespaces"})
    held = {words for words, (_, guards) in PROMISES.items() if guards & there}
    if os.geteuid() != 0 and "namespaces" not in there:
        held.add("no privileges")  # there are none to keep
    assert set(started.sandbox) == held
    told = [words for words in started.missing if not words.startswith("here is no ")]
    assert set(told) == {broken for words, (broken, _) in PROMISES.items() if words not in held}


@needs_landlock
def test_that_a_warm_worker_stays_in_its_sandbox(outside):
    with WarmWorker(COMMAND) as worker:
        worker.run(Do(what="echo"), dict)
        request = Do(what="breaks_out", text=str(outside))
        # No files are named here, so the last lines of the action fail with an IndexError: the sandbox is asked first.
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


def test_that_a_worker_gets_no_secrets_from_the_environment(monkeypatch):
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
        ("maps_removed_files", "wrote more than the 32 MiB of files"),
        ("fills_memory_files", "wrote more than the 32 MiB of files"),
        ("nests_folders", "made folders that can't be looked into"),
        ("starts_threads", "threads, more than it was allowed"),
    ],
)
def test_that_a_worker_that_takes_too_much_is_stopped(what, said):
    limits = Limits(memory_bytes=GIB, seconds=60, disk_bytes=32 << 20, file_bytes=2 << 20, threads=100)
    refused_otherwise = ["without", "seccomp"] if what == "fills_memory_files" else []
    last = list(Job(Do(what=what, number=20), limits, command=[*COMMAND, *refused_otherwise]))[-1]
    assert said in last.reason


NOBODY = 65534


def a_python_for_everybody() -> str | None:
    """One that a user without rights can start, of the same version: its packages are ours."""
    for python in (sys.executable, "/usr/bin/python3"):
        asked = [python, "-c", "import sys; print(sys.version_info[:2])"]
        try:
            done = subprocess.run(
                asked, capture_output=True, text=True, check=False, user=NOBODY, group=NOBODY, cwd="/"
            )
        except OSError:
            continue
        if done.stdout.strip() == str(sys.version_info[:2]):
            return python
    return None


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0, reason="whoever runs this is an ordinary user already")
def test_that_an_ordinary_user_has_the_same_sandbox(tmp_path_factory):
    python = a_python_for_everybody()
    if python is None:
        pytest.skip("no Python here that an ordinary user may start")
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    done = subprocess.run(
        [python, str(Path(__file__).with_name("as_user.py")), "nothing", "namespaces", "landlock+namespaces"],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{Path(__file__).parents[2]}:{packages}",
            "HOME": "/nonexistent",
            "TMPDIR": "/tmp",
        },
        capture_output=True,
        text=True,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        check=False,
    )
    if "Permission denied" in done.stderr:
        pytest.skip("the tests lie where an ordinary user may not read")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["reports"]["nothing"] == told["reports"]["namespaces"] == list(PROMISES)
    assert set(PROMISES) - set(told["reports"]["landlock+namespaces"]) == {
        "reads only its libraries and the model",
        "writes only in its own folder",
    }
    assert {way for way, outcome in told["ways"].items() if outcome == "it worked"} == OPEN
    assert {way for way, outcome in told["ways"].items() if outcome == "PermissionError"} == told["ways"].keys() - OPEN
