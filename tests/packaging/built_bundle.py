"""The bundle, started as a user would: `make bundle-test`. Workers run in the Python that runs this test."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from PySide6.QtGui import QColor, QImage
from pythons import GOOD, make_environment, make_launcher

from planner_app import __version__
from planner_app.core.model.setup import Precision
from planner_app.gui.look.theme import LIGHT

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "bundle" / "plimsoll"
PROGRAM = Path(os.environ.get("PLIMSOLL_TEST_PROGRAM", FOLDER / "plimsoll"))
DEMO = ROOT / "planner_app" / "data" / "demo.keras"
PICTURE = ROOT / "build" / "pictures" / "bundle.png"
PLAN = ROOT / "tests" / "files" / "golden" / "plan-1.json"


def run(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """With its own exit, or not at all."""
    kept = {name: value for name, value in os.environ.items() if name != "QT_QPA_PLATFORM"}
    return subprocess.run(
        [str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**kept, **variables},
    )


def test_that_it_starts_without_any_python_and_knows_its_version():
    done = run("--version", PATH="/nowhere")
    assert (done.stdout, done.stderr, done.returncode) == (f"plimsoll {__version__}\n", "", 0)


def test_that_tensorflow_is_not_inside_and_the_workers_sources_are():
    inside = PROGRAM.resolve().parent / "_internal"
    names = {path.name.lower().split("-")[0] for path in inside.iterdir()}
    assert not names & {"tensorflow", "keras", "h5py", "tf_keras", "jax"}
    assert (inside / "planner_app" / "worker" / "__main__.py").is_file()


def test_that_the_demo_model_is_opened_through_an_outside_python_and_drawn():
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.unlink(missing_ok=True)
    done = run(DEMO, "--picture", PICTURE, PLIMSOLL_PYTHON=sys.executable)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    drawn, line = QImage(str(PICTURE)), QColor(LIGHT.precision(Precision.FLOAT32)).rgb()
    assert (drawn.width(), drawn.height()) == (2560, 1600)
    pixels = sum(drawn.pixel(x, y) == line for x in range(0, 2560, 2) for y in range(0, 1600, 2))
    assert pixels > 500  # the line of float32 is there
    assert not psutil.Process().children(recursive=True)


def test_that_it_finds_the_python_of_the_active_environment_and_estimates_there():
    done = run("estimate", DEMO, "--batch", "32", "--device", "NVIDIA L4", "--json", VIRTUAL_ENV=sys.prefix)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["fits"] and 20 << 20 < answer["peak_bytes"] < 30 << 20


def test_that_a_plan_file_is_opened_by_the_app(tmp_path: Path):
    plan, picture = tmp_path / "resnet.plan.json", tmp_path / "plan.png"
    plan.write_bytes(PLAN.read_bytes())
    done = run(plan, "--picture", picture, PLIMSOLL_PYTHON=sys.executable)
    assert (done.returncode, done.stderr) == (0, "")
    assert picture.is_file()


@pytest.mark.parametrize("arguments", [("describe", DEMO), (DEMO, "--picture", "none.png")])
def test_that_a_python_without_tensorflow_gets_one_sentence(arguments, tmp_path: Path):
    python = make_environment(tmp_path / "there", {"keras": GOOD["keras"]})
    done = run(*arguments, PLIMSOLL_PYTHON=str(python))
    assert done.returncode == 1
    assert done.stderr == (
        f"plimsoll: {python} has no TensorFlow 2.21, no h5py and no msgspec: install them with "
        f'`{python} -m pip install "tensorflow>=2.21,<2.22" "h5py>=3.11" "msgspec>=0.19"`, '
        "or choose another Python under File > Python with TensorFlow.\n"
    )


def test_that_no_python_at_all_gets_one_sentence(tmp_path: Path):
    make_launcher(tmp_path / "path" / "python3", {})
    done = run("describe", DEMO)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(
        "plimsoll: No Python with TensorFlow 2.21 was found: create one with `python3 -m venv "
    )
