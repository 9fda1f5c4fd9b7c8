"""What people install, built and used as they would: `make dist-test`. Takes minutes, and the package index.

TensorFlow is the one of the environment that runs this test; with PLIMSOLL_TEST_FULL set it is installed too.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from planner_app import __version__

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
WHEEL = DIST / f"plimsoll-{__version__}-py3-none-any.whl"
SDIST = DIST / f"plimsoll-{__version__}.tar.gz"
GIT = shutil.which("git") or "git"
FULL = bool(os.environ.get("PLIMSOLL_TEST_FULL"))
DATA = ("demo.keras", "devices.json", "icon.svg", "keras_names.json", "plan.schema.json", "targets.json")


def test_that_the_wheel_has_the_program_and_its_data_and_no_tests():
    names = zipfile.ZipFile(WHEEL).namelist()
    own = {name for name in names if not name.startswith(f"plimsoll-{__version__}.d")}  # beside .dist-info and .data
    there = {str(file.relative_to(ROOT)) for file in (ROOT / "planner_app").rglob("*") if file.is_file()}
    assert own == {name for name in there if "__pycache__" not in name}
    assert {f"planner_app/data/{name}" for name in DATA} <= own
    assert f"plimsoll-{__version__}.dist-info/licenses/LICENSE" in names


def test_that_the_source_has_what_building_and_testing_needs():
    with tarfile.open(SDIST) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = subprocess.run([GIT, "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    assert {name for name in tracked if name} - names <= {".gitignore"}
    assert not [name for name in names if name.startswith(("build/", "dist/", ".venv/"))]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that has the wheel and nothing of this tree."""
    folder = tmp_path_factory.mktemp("clean")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    extras = "app,tensorflow" if FULL else "app"
    subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", f"{WHEEL}[{extras}]"], check=True)
    return folder / "bin"


def run(clean: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "QT_QPA_PLATFORM")}
    python = {} if FULL else {"PLIMSOLL_PYTHON": sys.executable}
    folders = {name: str(clean.parent / "own") for name in ("PLIMSOLL_SETTINGS", "PLIMSOLL_CACHE")}
    return subprocess.run(
        [str(clean / "plimsoll"), *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=clean,
        env={**kept, **python, **folders},
    )


def demo(clean: Path) -> str:
    (found,) = clean.parent.glob("lib/python3*/site-packages/planner_app/data/demo.keras")
    return str(found)


def test_that_the_installed_command_knows_its_version(clean: Path):
    done = run(clean, "--version")
    assert (done.stdout, done.stderr, done.returncode) == (f"plimsoll {__version__}\n", "", 0)


def test_that_the_installed_command_describes_a_model(clean: Path):
    done = run(clean, "describe", demo(clean))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("demo_resnet  Functional, Keras file") and done.stderr == ""


def test_that_the_installed_app_draws_its_window(clean: Path, tmp_path: Path):
    picture = ROOT / "build" / "pictures" / "installed_app.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.unlink(missing_ok=True)
    done = run(clean, demo(clean), "--picture", str(picture))
    assert (done.returncode, done.stderr) == (0, "")
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000
