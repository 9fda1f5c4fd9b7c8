"""A home that can't be written, none at all, no temporary folder, odd names, no screen: it works, or says why."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from surroundings import DEMO, ROOT, one_line, plimsoll

sys.path.insert(0, str(ROOT / "tests" / "files"))

from faults import COMPILER, compiled


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "home"
    home.mkdir(mode=0o555)
    yield home
    home.chmod(0o755)


def test_that_everything_works_with_a_read_only_home_and_it_is_reported_once(read_only: Path):
    done = plimsoll("estimate", DEMO, "--batch", "8", "--device", "24GiB", "--json", HOME=str(read_only))
    assert done.returncode == 0
    assert '"peak_bytes"' in done.stdout
    told = one_line(done.stderr)
    assert told == f"Nothing can be saved in {read_only}/.cache/plimsoll/traces: permission denied. " + (
        "It will be recomputed next time."
    )
    assert list(read_only.iterdir()) == []


def test_that_the_app_starts_with_a_home_that_can_t_be_written(read_only: Path, tmp_path: Path):
    picture = tmp_path / "window.png"
    done = plimsoll("--picture", picture, HOME=str(read_only))
    assert done.returncode == 0
    assert "The settings can't be saved" in one_line(done.stderr)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_that_what_can_t_be_written_where_the_user_said_is_one_line(read_only: Path):
    done = plimsoll("calibrate", "--export", read_only / "calibrations.json", HOME=str(read_only))
    assert done.returncode == 1
    assert (
        one_line(done.stderr) == f"Calibrations can't be written to '{read_only}/calibrations.json': permission denied."
    )


@pytest.mark.skipif(COMPILER is None, reason="no C compiler, which makes the library that knows no accounts")
def test_that_an_account_without_a_home_makes_no_folder_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    library = compiled(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    nobody = {"LD_PRELOAD": str(library), "FAULTS_NOBODY": "1"}
    assert plimsoll("calibrate", "--list", unset="HOME", **nobody).returncode == 0
    done = plimsoll("--picture", tmp_path / "window.png", unset="HOME", **nobody)
    assert done.returncode == 0
    assert one_line(done.stderr) == "Nothing can be saved because the home folder is unknown: set HOME."
    assert list((tmp_path / "here").iterdir()) == []


def test_that_without_a_folder_for_temporary_files_a_worker_is_refused_with_a_sentence(tmp_path: Path):
    """Python itself goes on to the next one of a handful: here there is none."""
    code = (
        "import sys, tempfile\ntempfile._candidate_tempdir_list = lambda: ['/no/such/folder']\n"
        f"from planner_app.cli import main\nsys.exit(main(['describe', {str(DEMO)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "A worker needs a folder for its own files, and none can be made" in one_line(done.stderr)


def test_that_a_full_temporary_folder_is_reported_and_left_unchanged(tmp_path: Path):
    """A disk with room for one more entry: the worker's folder is made, and nothing in it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "nr_inodes=2", "tmpfs", disk]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nobody may mount a small disk here")
    try:
        done = plimsoll("describe", DEMO, TMPDIR=str(disk))
        assert done.returncode == 1
        assert "none can be made: no space left on device" in one_line(done.stderr)
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_that_a_terminal_without_utf8_and_a_name_without_it_are_no_trouble(tmp_path: Path):
    """The file is refused, for other reasons than its name would be in the answer."""
    path = tmp_path / os.fsdecode(b"caf\xe9.keras")
    path.write_bytes(DEMO.read_bytes())
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = plimsoll("describe", path, **ascii_only)
    assert done.returncode == 1
    assert "is not valid UTF-8: rename the file" in one_line(done.stderr)
    done = plimsoll("calibrate", "--export", path.with_suffix(".json"), **ascii_only, HOME=str(tmp_path))
    assert done.returncode == 0
    assert path.with_suffix(".json").exists()


def test_that_an_output_that_is_full_is_one_line():
    command = f"{sys.executable} -m planner_app devices > /dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert one_line(done.stderr) == "The output can't be written: no space left on device."


def test_that_a_screen_that_is_not_there_is_one_line():
    for where in ({"DISPLAY": ":99"}, {}):
        done = plimsoll(unset="DISPLAY WAYLAND_DISPLAY", **where)
        assert done.returncode == 1
        assert " a screen" in one_line(done.stderr)
