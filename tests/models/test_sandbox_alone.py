"""The sandbox by itself: hostile files opened without any check, in a worker, do nothing to the machine.

The reader's checks by themselves are in the modules test_hostile_*.py, where no sandbox is on.
"""

import base64
import marshal
import sys
from pathlib import Path

import pytest
from hostile import input_layer, keras_file, layer, sequential, weights_file
from unchecked import Load

from planner_app.jobs.job import Job, result_of
from planner_app.planner.opening import check_model
from planner_app.worker.confine import landlock

COMMAND = [sys.executable, str(Path(__file__).with_name("unchecked.py"))]
SECRET = "the words of another file"
ACTIONS = {
    "write": "open({marker!r}, 'w')",
    "read": "open({secret!r}).read()",
    "connect": "__import__('socket').socket()",
    "start": "__import__('subprocess').run(['/bin/echo', 'started'], stdout=-1).stdout",
    "signal": "__import__('os').kill(__import__('os').getppid(), 0)",
}
# Keras keeps to itself what a Lambda raises: what came of it is left where the worker looks.
REPORT = """
import builtins
try:
    builtins.told = repr({action})
except Exception as error:
    builtins.told = repr(error)
"""


def has_landlock() -> bool:
    try:
        return landlock.version() >= 3
    except OSError:
        return False


def code_that_does(action: str):
    """A Lambda as Keras saves one: Python code, run when the model is put together."""
    code = compile(f"(lambda x: exec({REPORT.format(action=action)!r}) or x)", "", "eval").co_consts[0]
    packed = {"code": base64.encodebytes(marshal.dumps(code)).decode(), "defaults": None, "closure": None}
    return layer("Lambda", function={"class_name": "__lambda__", "config": packed}, arguments={})


def words_from(file: Path):
    words = input_layer((None, 1))
    words["config"]["dtype"] = "string"
    model = sequential(layer("StringLookup", vocabulary=str(file), num_oov_indices=1, mask_token=None))
    model["config"]["layers"][0] = words
    return model


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Files by what they are after, and the file that one of them would make."""
    folder = tmp_path_factory.mktemp("hostile")
    marker, secret, none = folder / "marker", folder / "secret.txt", weights_file(lambda file: None)
    secret.write_text(SECRET)
    models = {
        name: sequential(code_that_does(action.format(marker=str(marker), secret=str(secret))))
        for name, action in ACTIONS.items()
    }
    models["words"] = words_from(secret)
    return {name: keras_file(folder / f"{name}.keras", model, weights=none) for name, model in models.items()}, marker


def opened(files: dict[str, Path], *how: str) -> dict[str, str]:
    request = Load(paths=tuple(str(path) for path in files.values()))
    told = result_of(Job(request, command=[*COMMAND, *how]), dict[str, str])
    return {name: told[str(path)] for name, path in files.items()}


def test_that_without_checks_and_without_a_sandbox_these_files_do_what_they_are_after(hostile):
    """Else the next test would say nothing."""
    files, marker = hostile
    told = opened(files, "without")
    assert marker.exists()
    marker.unlink()
    assert SECRET in told["read"]
    assert SECRET in told["words"]
    assert "socket.socket fd=" in told["connect"]
    assert "started" in told["start"]
    assert told["signal"] == "None"


@pytest.mark.skipif(not has_landlock(), reason="needs Landlock 3 (Linux 6.2)")
def test_that_the_sandbox_alone_keeps_them_from_it(hostile):
    files, marker = hostile
    told = opened(files)
    assert not marker.exists()
    assert SECRET not in str(told)
    # A mount of its own that is read-only refuses with an error of its own.
    refused = {name for name, words in told.items() if words.startswith(("PermissionError", "OSError(30"))}
    assert refused == ACTIONS.keys()
    assert "Permission" in told["words"]


def test_that_a_file_that_was_read_without_a_sandbox_says_so(tmp_path, monkeypatch):
    path = keras_file(tmp_path / "m.keras", sequential(layer("Dense", units=2)))
    monkeypatch.setattr("planner_app.jobs.job.worker_command", lambda: [*COMMAND, "without"])
    (said,) = [each for each in check_model(str(path)).warnings if "sandbox" in each]
    assert said.startswith("The file was read without a whole sandbox: it can read files outside its folder; ")
    monkeypatch.undo()
    if has_landlock():
        assert "sandbox" not in str(check_model(str(path)).warnings)
