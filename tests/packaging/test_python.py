"""Which Python workers run in, and what is reported about an unsuitable one."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from pythons import GOOD, make_environment, make_launcher, make_program

from planner_app.core.measure.calibration import Sample
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Backend, StepSetup
from planner_app.errors import PythonError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.calibrations import Calibrations
from planner_app.files.kept.traces import trace_key
from planner_app.jobs import interpreter as python
from planner_app.jobs import interpreter_probe as probe
from planner_app.jobs import launch
from planner_app.jobs.job import run
from planner_app.jobs.protocol import Inspect
from planner_app.jobs.versions import figures_depend_on, worker_versions
from planner_app.planner.calibrations import CalibrationLookup
from planner_app.planner.opening import check_model

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "planner_app" / "data" / "demo.keras"
MODEL = CheckedModel("net", "keras", {})


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)


def choose(tmp_path: Path, path: str) -> None:
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "settings.json").write_text(f'{{"look": "dark", "python": "{path}"}}')


def test_that_workers_run_in_plimsolls_own_python_unless_told_otherwise():
    assert launch.worker_command() == [sys.executable, "-P", str(ROOT / "planner_app" / "worker" / "__main__.py")]


def test_that_the_variable_wins_over_the_users_choice_and_that_over_what_is_found(tmp_path, monkeypatch, frozen):
    make_launcher(tmp_path / "path" / "python3", GOOD)
    assert python.find().origin == "python3 on the PATH"
    choose(tmp_path, str(make_environment(tmp_path / "chosen", GOOD)))
    assert python.find().origin == "chosen in the app"
    monkeypatch.setenv(python.VARIABLE, str(make_environment(tmp_path / "named", GOOD)))
    assert python.find().origin == python.VARIABLE


def test_that_a_frozen_build_takes_the_first_python_with_all_it_needs(tmp_path, monkeypatch, frozen):
    make_environment(tmp_path / "venv", {**GOOD, "tensorflow": "2.18.1"})
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "venv"))
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))  # it is gone
    assert "No Python with TensorFlow 2.21 was found" in python.find().problem
    make_launcher(tmp_path / "path" / "python3.12", GOOD)
    found = python.find()
    assert (found.origin, found.problem) == ("python3.12 on the PATH", "")
    assert found.summary == f"Python {sys.version.split()[0]}, TensorFlow 2.21.0, Keras 3.15.1"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux remembers what a process began with")
def test_that_an_active_environment_is_found_though_pyinstaller_hides_it(tmp_path):
    there = make_environment(tmp_path / "there", GOOD)
    code = (
        "import os, sys; sys.frozen = True; os.environ.pop('VIRTUAL_ENV'); "
        "from planner_app.jobs import interpreter; found = interpreter.find(); print(found.path, found.origin)"
    )
    environment = {**os.environ, "VIRTUAL_ENV": str(tmp_path / "there"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{there} VIRTUAL_ENV\n"


def test_that_an_environment_made_as_advised_is_found_without_being_named(tmp_path, frozen):
    advised = re.search(r"-m venv (\S+) && (\S+) -m pip install", python.find().problem)
    assert advised and advised[2] == f"{advised[1]}/bin/python"
    make_environment(Path(advised[1]), GOOD)
    assert python.find().origin == "made for Plimsoll"


def test_that_missing_packages_are_reported_with_the_command_that_installs_them(tmp_path):
    there = make_environment(tmp_path / "there", {"tensorflow": "2.15.1", "keras": "3.15.1", "h5py": "3.14.0"})
    assert python.check(str(there)).problem == (
        f"{there} has no TensorFlow 2.16 to 2.21 but 2.15.1 and no msgspec: install them with "
        f'`{there} -m pip install "tensorflow>=2.21,<2.22" "msgspec>=0.19"`, '
        "or choose another Python under File > Python with TensorFlow."
    )


@pytest.mark.parametrize(
    ("version", "enough"),
    [("3.15.0", False), ("3.15.1", True), ("3.15.12", True), ("3.14.9", False), ("3.16.1", False)],
)
def test_that_a_python_that_is_searched_for_has_the_release_with_the_security_fixes(tmp_path, version, enough):
    there = make_environment(tmp_path / "there", {**GOOD, "keras": version})
    assert (python.check(str(there), named=False).problem == "") == enough


@pytest.mark.parametrize(
    ("keras", "tensorflow", "enough"),
    [("3.5.0", "2.16.2", True), ("3.14.1", "2.20.0", True), ("3.4.1", "2.16.2", False), ("3.15.1", "2.15.1", False)],
)
def test_that_a_python_that_is_named_may_have_an_older_release(tmp_path, keras, tensorflow, enough):
    there = make_environment(tmp_path / "there", {**GOOD, "keras": keras, "tensorflow": tensorflow})
    assert (python.check(str(there)).problem == "") == enough


def test_that_a_leftover_folder_is_not_a_package(tmp_path):
    there = make_environment(tmp_path / "there", {"keras": "3.15.1"})
    (library,) = (tmp_path / "there").glob("lib/*/site-packages")
    (library / "tensorflow").mkdir()
    assert "no TensorFlow 2.21, no h5py" in python.check(str(there)).problem


def test_that_a_python_of_the_wrong_version_is_refused(tmp_path):
    said = '{"executable": "/opt/python", "prefix": "/opt", "version": "3.10.4", "packages": {}}'
    there = make_program(tmp_path / "python", f"echo '{probe.MARK}{said}'")
    problem = python.check(str(there)).problem
    assert problem.startswith("/opt/python is Python 3.10.4, but TensorFlow 2.21 needs Python 3.11 to 3.13: choose")


@pytest.mark.parametrize(
    ("shell", "said"),
    [
        ("echo hello", "does not behave like a Python"),
        ("exit 3", "does not behave like a Python"),
        ("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done", "does not behave like a Python"),
        (f"echo '{probe.MARK}[1]'", "does not behave like a Python"),
        (f"echo '{probe.MARK}'", "does not behave like a Python"),
        ("/bin/sleep 600 & /bin/sleep 600", "did not answer within 1 s"),
    ],
)
def test_that_a_program_that_is_not_a_python_is_recognised_and_stopped(children, tmp_path, shell, said):
    answer = probe.ask(str(make_program(tmp_path / "program", shell)), seconds=1 if "sleep" in shell else 60)
    assert answer.trouble == said
    assert children() == []


def test_that_a_missing_python_is_reported():
    assert "/nowhere/python can't be started (No such file or directory)" in python.check("/nowhere/python").problem


def test_that_a_file_in_the_users_folder_is_not_taken_for_a_package(tmp_path, monkeypatch):
    for name in ("json", "tensorflow"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a stranger was imported')")
    monkeypatch.chdir(tmp_path)
    there = make_environment(tmp_path / "there", {})
    assert "no TensorFlow 2.21" in python.check(str(there)).problem


def test_that_a_model_is_not_opened_without_a_python_and_the_sentence_is_the_answer(tmp_path, monkeypatch):
    monkeypatch.setenv(python.VARIABLE, str(make_environment(tmp_path / "there", {"h5py": "3.14.0"})))
    with pytest.raises(PythonError, match=r"^\S+ has no TensorFlow 2.21, no Keras 3.15.1 and no msgspec: install them"):
        check_model(str(DEMO))


def test_that_another_python_runs_our_worker_though_it_has_no_plimsoll(tmp_path, monkeypatch):
    """Nor one of another version: it runs the one that asks."""
    there = make_environment(tmp_path / "there", {})
    (packages,) = (tmp_path / "there").glob("lib/*/site-packages")
    (packages / "more.pth").write_text(sysconfig.get_path("purelib"))
    other = packages / "planner_app"
    other.mkdir()
    (other / "__init__.py").write_text("raise SystemExit('another version was imported')")
    monkeypatch.setenv(python.VARIABLE, str(there))
    model = run(Inspect(path=str(DEMO)), CheckedModel)
    assert model.config["class_name"] == "Functional"


def test_that_a_frozen_builds_libraries_are_not_forced_on_others(monkeypatch, frozen, tmp_path):
    given = {"LD_LIBRARY_PATH": "/bundle", "LD_LIBRARY_PATH_ORIG": "/mine", "_PYI_ARCHIVE_FILE": "x", "HOME": "/me"}
    assert probe.clean_environment(given) == {"LD_LIBRARY_PATH": "/mine", "HOME": "/me"}
    assert probe.clean_environment({"LD_LIBRARY_PATH": "/bundle"}) == {}
    seen = launch.environment(tmp_path, 3, gpu=False, inherited=given)
    assert seen["LD_LIBRARY_PATH"] == "/mine" and "PYTHONPATH" not in seen


def test_that_workers_need_what_pyproject_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    allowed = {*project["dependencies"], *project["optional-dependencies"]["tensorflow"]}
    assert {need.requirement for need in python.NEEDS} <= allowed
    assert project["requires-python"] == f">=3.{python.MINORS[0]},<3.{python.MINORS[-1] + 1}"


def test_that_versions_are_those_of_the_python_that_workers_run_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A bundle has no TensorFlow of its own: traces and calibrations go by what the worker has."""
    own = worker_versions()
    assert own["tensorflow"].startswith("2.21") and figures_depend_on().keys() == {"tensorflow", "keras"}
    other = make_environment(tmp_path / "other", {**GOOD, "tensorflow": "2.21.7", "jaxlib": "0.10.2"})
    monkeypatch.setenv(python.VARIABLE, str(other))
    assert worker_versions() == {**GOOD, "tensorflow": "2.21.7", "jaxlib": "0.10.2"}
    assert figures_depend_on() == {"tensorflow": "2.21.7", "keras": GOOD["keras"]}
    sample = Sample("net", "abc", "batch 8", "2026-11-16T04:37:00Z", 100, (110, 120))
    kept = Calibrations().add(sample, device="NVIDIA L4", **figures_depend_on(), driver=None, xla=True)
    device = find_device("NVIDIA L4")
    assert CalibrationLookup(worker_versions())(device, True, Backend.TENSORFLOW) == kept
    assert CalibrationLookup(own)(device, True, Backend.TENSORFLOW) is None
    assert trace_key(MODEL, StepSetup(), worker_versions()) != trace_key(MODEL, StepSetup(), own)


def test_that_where_no_python_will_do_no_versions_are_known(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(python.VARIABLE, "/nowhere/python")
    assert worker_versions() == {}
    assert figures_depend_on() == {"tensorflow": "", "keras": ""}
