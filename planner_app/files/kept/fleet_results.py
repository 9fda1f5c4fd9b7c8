"""Measurements of a fleet, each kept as it ends: a run that was interrupted goes on where it was."""

import hashlib
from pathlib import Path

import msgspec

from planner_app.core.measure.measurement import Measurement
from planner_app.files.home import cache_folder
from planner_app.files.kept.measurements import MAX_FILE_BYTES
from planner_app.files.reading import read_at_most
from planner_app.files.writing import keep


class FleetResults:
    """One file for each measurement, named after its key, everything it depends on. A folder that can't be written is
    not an error: the run can't be gone on with then."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or cache_folder() / "fleet"

    def read(self, key: bytes) -> Measurement | None:
        try:
            return msgspec.json.decode(read_at_most(self._file(key), MAX_FILE_BYTES), type=Measurement)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None

    def keep(self, key: bytes, measurement: Measurement) -> None:
        keep(self._file(key), msgspec.json.encode(measurement))

    def forget(self, key: bytes) -> None:
        try:
            self._file(key).unlink(missing_ok=True)
        except OSError:
            return

    def _file(self, key: bytes) -> Path:
        return self._folder / f"{hashlib.sha256(key).hexdigest()[:40]}.json"
