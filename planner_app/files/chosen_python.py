"""The Python that the user has chosen for workers: one field of the app's settings, read without Qt."""

import os
from pathlib import Path

import msgspec

from planner_app.files.home import config_folder
from planner_app.files.reading import read_at_most

FOLDER_VARIABLE = "PLIMSOLL_SETTINGS"
MAX_FILE_BYTES = 1 << 20


class _Chosen(msgspec.Struct, frozen=True):
    python: str = ""


def settings_folder() -> Path:
    given = os.environ.get(FOLDER_VARIABLE)
    return Path(given) if given else config_folder()


def settings_file() -> Path:
    return settings_folder() / "settings.json"


def chosen_python() -> str:
    """Its path; empty if none was chosen. Unreadable settings are ignored here: the app reports them."""
    try:
        return msgspec.json.decode(read_at_most(settings_file(), MAX_FILE_BYTES), type=_Chosen).python
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
