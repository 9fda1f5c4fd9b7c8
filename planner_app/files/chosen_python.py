"""The Python that the user has chosen for workers: one field of the app's settings, read without Qt."""

import os
from pathlib import Path

import msgspec

FOLDER_VARIABLE = "PLIMSOLL_SETTINGS"
MAX_FILE_BYTES = 1 << 20


class _Chosen(msgspec.Struct, frozen=True):
    python: str = ""


def settings_folder() -> Path:
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given)
    from platformdirs import user_config_path  # only needed here, and takes its time

    return user_config_path("plimsoll", appauthor=False)


def settings_file() -> Path:
    return settings_folder() / "settings.json"


def chosen_python() -> str:
    """Its path; empty where nobody has chosen one. Settings that can't be read are the app's to complain about."""
    try:
        with settings_file().open("rb") as file:
            return msgspec.json.decode(file.read(MAX_FILE_BYTES), type=_Chosen).python
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
