"""The folders of the user's that are written in, and whether they can be."""

import os
import shutil
import tempfile
from pathlib import Path

from planner_app.core.checkup import Folder
from planner_app.files import chosen_python
from planner_app.files.kept import calibrations, traces


def folders() -> tuple[Folder, ...]:
    """Each tried out. Only the one for workers is needed: the others are done without."""
    return (
        _temporary(),
        _tried("Cache", traces.TraceCache().folder, traces.FOLDER_VARIABLE),
        _tried("Settings", chosen_python.settings_folder(), chosen_python.FOLDER_VARIABLE),
        _tried("Calibrations", calibrations.Calibrations().folder, calibrations.FOLDER_VARIABLE),
    )


def _temporary() -> Folder:
    name, variable = "Temporary folder", "TMPDIR"
    try:
        path = Path(tempfile.gettempdir())
    except OSError as error:  # it tries a handful itself
        return Folder(name, os.environ.get(variable, "/tmp"), variable, _reason(error), needed=True)
    return _tried(name, path, variable, needed=True)


def _tried(name: str, path: Path, variable: str, *, needed: bool = False) -> Folder:
    """A folder that is not there yet is made when it is wanted: what counts is the nearest one that is."""
    there = next((each for each in (path, *path.parents) if each.exists()), path)
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"plimsoll")
            file.flush()
    except OSError as error:
        return Folder(name, str(path), variable, _reason(error), _free(there), needed)
    return Folder(name, str(path), variable, "", _free(there), needed)


def _free(path: Path) -> int | None:
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).lower()
