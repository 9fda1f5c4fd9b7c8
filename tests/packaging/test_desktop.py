"""What desktops are told about the app, and where its version comes from."""

import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest

from planner_app import __version__
from planner_app.gui.panels.plan.presenter import ENDING

ROOT = Path(__file__).parents[2]
SHARED_MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"
PROGRAMS = {name: shutil.which(name) for name in ("desktop-file-validate", "appstreamcli", "update-mime-database")}


def needs(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(PROGRAMS[name] is None, reason=f"{name} is not installed")


def call(*command: str | Path) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    prefix = tmp_path_factory.mktemp("prefix")
    call(sys.executable, ROOT / "packaging" / "linux_files.py", prefix)
    yield prefix / "share"


@needs("desktop-file-validate")
def test_that_the_menu_entry_is_valid(share: Path):
    assert call(PROGRAMS["desktop-file-validate"], share / "applications" / "plimsoll.desktop") == ""


@needs("appstreamcli")
def test_that_the_store_page_is_valid(share: Path):
    (file,) = (share / "metainfo").glob("*.metainfo.xml")
    assert "Validation was successful" in call(PROGRAMS["appstreamcli"], "validate", "--no-net", "--no-color", file)


@needs("update-mime-database")
def test_that_the_file_types_are_installed_without_warnings(share: Path):
    assert call(PROGRAMS["update-mime-database"], "-V", share / "mime").count("warning") == 0
    globs = (share / "mime" / "globs2").read_text().splitlines()
    assert {"80:application/vnd.plimsoll.plan+json:*.plan.json", "50:application/x-keras:*.keras"} <= set(globs)


def test_that_menu_entry_store_page_and_file_types_speak_of_the_same_files(share: Path):
    entry = ConfigParser(interpolation=None)
    entry.read(share / "applications" / "plimsoll.desktop")
    opened = set(filter(None, entry["Desktop Entry"]["MimeType"].split(";")))
    types = ElementTree.parse(share / "mime" / "packages" / "plimsoll.xml").getroot()
    (page,) = (share / "metainfo").glob("*.metainfo.xml")
    provided = ElementTree.parse(page).getroot().findall("provides/mediatype")
    assert {each.get("type") for each in types} == opened == {each.text for each in provided}
    globs = {each.get("pattern") for each in types.iter(f"{SHARED_MIME}glob")}
    assert globs == {"*.keras", f"*{ENDING}"}


def test_that_the_icon_is_there_in_every_size(share: Path):
    sizes = (16, 22, 24, 32, 48, 64, 128, 256, 512)
    for size in sizes:
        data = (share / "icons" / "hicolor" / f"{size}x{size}" / "apps" / "plimsoll.png").read_bytes()
        assert struct.unpack(">II", data[16:24]) == (size, size)
    assert {each.name for each in (share / "icons" / "hicolor").iterdir()} == {f"{n}x{n}" for n in sizes} | {"scalable"}


def test_that_manual_and_completions_are_installed(share: Path):
    assert (share / "man" / "man1" / "plimsoll.1.gz").read_bytes().startswith(b"\x1f\x8b")
    for place in ("bash-completion/completions/plimsoll", "fish/vendor_completions.d/plimsoll.fish"):
        assert "plimsoll" in (share / place).read_text()
    assert (share / "zsh" / "vendor-completions" / "_plimsoll").read_text().startswith("#compdef plimsoll")


def test_that_the_version_is_written_in_one_place(share: Path):
    """And in the change log, which says when."""
    assert call(sys.executable, ROOT / "packaging" / "release.py") == f"{__version__}\n"
    kinds = (".py", ".sh", ".in", ".spec", ".desktop")
    files = [ROOT / "Makefile", ROOT / "pyproject.toml"]
    for folder in ("packaging", "planner_app"):
        files += [file for file in (ROOT / folder).rglob("*") if file.suffix in kinds]
    literal = re.compile(rf"(?<![\d.]){re.escape(__version__)}(?![\d.])")
    assert [file for file in files if literal.search(file.read_text())] == [ROOT / "planner_app" / "__init__.py"]
    (page,) = (share / "metainfo").glob("*.metainfo.xml")
    assert [each.get("version") for each in ElementTree.parse(page).iter("release")] == [__version__]
