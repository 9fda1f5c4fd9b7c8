"""The user's folders that Plimsoll writes to, and whether they are writable."""

import os
import shutil
import tempfile
from pathlib import Path

from planner_app.core.checkup import Folder
from planner_app.files import chosen_python
from planner_app.files.kept import calibrations, traces


def folders() -> tuple[Folder, ...]:
    """All folders, each one tested. Only the workers' folder is required."""
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
    except OSError as error:  # gettempdir() has tried several folders
        return Folder(name, os.environ.get(variable, "/tmp"), variable, _reason(error), needed=True)
    return _tried(name, path, variable, needed=True)


def _tried(name: str, path: Path, variable: str, *, needed: bool = False) -> Folder:
    """A missing folder is created when needed, so its nearest existing parent is tested."""
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
