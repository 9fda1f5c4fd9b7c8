"""An independent judge: strace looks on while hostile files are read, and says which files were opened and which calls
were made. Neither the sandbox's own report nor its probes are asked."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hostile import bytecode, dense, function, keras_file, layer, sequential

from planner_app.jobs.launch import WORKER

ROOT = Path(__file__).parents[2]
STRACE = shutil.which("strace")
CALLS = "openat,open,creat,socket,connect,bind,execve,execveat,kill,tgkill,utimensat,chmod,unlink,unlinkat,rename,mkdir"
CALLS += ",landlock_restrict_self,seccomp"
CALL = re.compile(r"^(?P<process>\d+) (?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+|\?)")
PATH = re.compile(r'"(?P<path>(?:[^"\\]|\\.)*)"')
DEVICES = ("/dev/null", "/dev/urandom", "/dev/random", "/dev/zero")
CHANGES = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC")

pytestmark = pytest.mark.skipif(STRACE is None, reason="needs strace")

HOSTILE = {
    "sound": sequential(dense()),
    "lambda": sequential(layer("Lambda", function=bytecode())),
    "program": sequential(layer("Lambda", function=function("system", "os"))),
    "saved program": sequential(layer("TFSMLayer", filepath="/etc")),
    "vocabulary": sequential(layer("StringLookup", vocabulary="/etc/passwd")),
    "download": sequential(layer("Lambda", function=function("get_file", "keras.utils"))),
}


@pytest.fixture(scope="module")
def watched(tmp_path_factory) -> list[re.Match[str]]:
    """Every call of the workers that read the files, made after their sandbox was on."""
    folder = tmp_path_factory.mktemp("judged")
    found: list[re.Match[str]] = []
    for name, config in HOSTILE.items():
        path, log = keras_file(folder / f"{name}.keras", config), folder / f"calls of {name}"
        command = [STRACE, "-ff", "-qq", "-s", "400", "-e", f"trace={CALLS}", "-o", log]
        subprocess.run(
            [*command, sys.executable, "-m", "planner_app", "describe", path],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=300,
            check=False,
        )
        found += _of_workers(
            [
                f"{one.suffix[1:]} {line}"
                for one in sorted(log.parent.glob(f"{log.name}.*"))
                for line in one.read_text(errors="replace").splitlines()
            ]
        )
    return found


def _of_workers(lines: list[str]) -> list[re.Match[str]]:
    """A worker is what was started as one; it is confined from the moment that the kernel took its filter."""
    started, confined, found = set(), set(), []
    for line in lines:
        process = line.partition(" ")[0]
        if str(WORKER) in line and " execve(" in line:
            started.add(process)
        if process in started and "seccomp" in line and line.endswith("= 0"):  # whole, or "<... seccomp resumed>"
            confined.add(process)
        elif process in confined or (started and process not in started and "plimsoll-worker" in line):
            call = CALL.match(line)
            if call and process in confined:
                found.append(call)
    assert started
    assert started == confined
    return found


def test_that_the_judge_sees_what_workers_open(watched):
    assert any(call["name"] == "openat" and int(call["result"]) >= 0 for call in watched)


def test_that_no_worker_opens_the_model_by_its_name(watched):
    """It is handed over open: what was checked is what is read, whatever lies at that path by then."""
    assert not any("sound.keras" in call["arguments"] and int(call["result"]) >= 0 for call in watched)


def test_that_no_file_was_opened_but_libraries_the_model_and_the_workers_own(watched):
    allowed = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime", "/proc", "/sys", *DEVICES)
    allowed += (sys.prefix, sys.base_prefix, str(ROOT), *(path for path in sys.path if path.startswith("/")))
    for call in watched:
        if call["name"] in ("openat", "open", "creat") and int(call["result"]) >= 0:
            path = PATH.search(call["arguments"])["path"]
            own = "/plimsoll-worker-" in path
            assert own or path.startswith(allowed) or path.endswith(".keras"), call[0]
            if not own and path not in DEVICES:
                assert not any(flag in call["arguments"] for flag in CHANGES), call[0]


@pytest.mark.parametrize(
    "names", [("socket", "connect", "bind"), ("execve", "execveat"), ("kill", "utimensat", "chmod")]
)
def test_that_no_call_that_is_forbidden_came_through(watched, names):
    """The probes of every start make them too: each must have failed."""
    made = [call for call in watched if call["name"] in names]
    assert made or names == ("execve", "execveat")
    assert [call[0] for call in made if call["result"] != "-1"] == []


def test_that_nothing_was_changed_outside_the_workers_own_folder(watched):
    for call in watched:
        if call["name"] in ("unlink", "unlinkat", "rename", "mkdir") and call["result"] == "0":
            assert "/plimsoll-worker-" in call["arguments"], call[0]
