"""The Debian package and the AppDir of the bundle, unpacked, started and taken away again: `make bundle-test`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from planner_app import __version__

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "planner_app" / "data" / "demo.keras"
APPDIR = ROOT / "build" / "Plimsoll.AppDir"
SYSTEM = "/usr/bin:/bin:/usr/sbin:/sbin"


def package() -> Path:
    (found,) = (ROOT / "dist").glob(f"plimsoll_{__version__}_*.deb")
    return found


def call(*command: str | Path, **variables: str) -> str:
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "PATH": SYSTEM, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def drawn(program: Path, picture: Path) -> None:
    assert call(program, "--version") == f"plimsoll {__version__}\n"
    call(program, DEMO, "--picture", picture, PLIMSOLL_PYTHON=sys.executable)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_that_the_package_says_what_it_is_and_what_it_needs():
    fields = call("dpkg-deb", "--field", package(), "Package", "Version", "Depends")
    assert f"Package: plimsoll\nVersion: {__version__}\n" in fields and "libxcb-cursor0" in fields


@pytest.mark.skipif(os.geteuid() != 0, reason="dpkg installs for root alone")
def test_that_the_package_is_installed_runs_and_is_removed_without_a_trace(tmp_path: Path):
    root = tmp_path / "root"
    (root / "var" / "lib" / "dpkg" / "info").mkdir(parents=True)
    (root / "var" / "lib" / "dpkg" / "updates").mkdir()
    (root / "var" / "lib" / "dpkg" / "status").touch()
    dpkg = ("dpkg", f"--root={root}", f"--log={tmp_path / 'log'}", "--force-depends")
    call(*dpkg, "--install", package())
    for place in ("bin/plimsoll", "share/applications/plimsoll.desktop", "share/man/man1/plimsoll.1.gz"):
        assert (root / "usr" / place).exists()
    drawn(root / "usr" / "bin" / "plimsoll", tmp_path / "deb.png")
    call(*dpkg, "--purge", "plimsoll")
    assert not (root / "usr").exists()


def test_that_the_appdir_runs_from_wherever_it_lies(tmp_path: Path):
    moved = tmp_path / "moved" / "Plimsoll.AppDir"
    shutil.copytree(APPDIR, moved, symlinks=True)
    assert (moved / "plimsoll.desktop").is_file() and (moved / ".DirIcon").is_file()
    drawn(moved / "AppRun", tmp_path / "appdir.png")
