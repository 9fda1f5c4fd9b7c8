"""Files in the user's own folders and files that a user names: a pipe or a device in their place is not waited for."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from planner_app.errors import ModelError
from planner_app.files.chosen_python import chosen_python
from planner_app.files.kept.fleet_results import FleetResults
from planner_app.files.kept.searches import SearchFile
from planner_app.files.python_functions import functions_in
from planner_app.gui.state.settings import Settings, SettingsFile


def read_settings(folder: Path) -> object:
    return SettingsFile(folder / "settings.json").read()[0]


def read_python(folder: Path) -> object:
    return chosen_python()


def read_search(folder: Path) -> object:
    return SearchFile("model", folder=folder).read()


def read_fleet(folder: Path) -> object:
    return FleetResults(folder).read(b"key")


def read_functions(folder: Path) -> object:
    with pytest.raises(ModelError, match="can't be read"):
        functions_in(str(folder / "models.py"))
    return None


READERS: dict[str, tuple[Callable[[Path], object], object]] = {
    "settings.json": (read_settings, Settings()),
    "settings.json of workers": (read_python, ""),
    "search": (read_search, ()),
    "fleet": (read_fleet, None),
    "models.py": (read_functions, None),
}
PLACES: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "nothing": lambda path: path.symlink_to("gone"),
}


@pytest.mark.parametrize("what", PLACES)
@pytest.mark.parametrize("name", READERS)
def test_that_what_is_not_a_file_is_read_as_nothing(name, what, tmp_path, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_SETTINGS", str(tmp_path))
    read, nothing = READERS[name]
    path = {
        "search": SearchFile("model", folder=tmp_path)._file,
        "fleet": FleetResults(tmp_path)._file(b"key"),
    }.get(name, tmp_path / name.split()[0])
    PLACES[what](path)
    assert read(tmp_path) == nothing
