"""The app's settings: a small JSON file, replaced as a whole. A broken file is set aside and reported."""

from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path

import msgspec
from msgspec import Struct

from planner_app.errors import PlannerError
from planner_app.files.chosen_python import MAX_FILE_BYTES, settings_file
from planner_app.files.home import NOWHERE
from planner_app.files.reading import read_at_most
from planner_app.files.writing import alone, nothing_kept, reason, why_not, write_atomically
from planner_app.gui.look.theme import Look
from planner_app.gui.state.remembered import Remembered

MOST_RECENT = 9


class Settings(Struct, frozen=True, kw_only=True):
    """Devices and precisions by name, as on the command line."""

    look: Look = Look.SYSTEM
    recent: tuple[str, ...] = ()
    remembered: tuple[Remembered, ...] = ()  # of the recent files
    open: tuple[str, ...] = ()  # when the window was closed, the current model last
    geometry: bytes = b""
    layout: bytes = b""
    device: str = ""
    devices: tuple[str, ...] = ()
    precisions: tuple[str, ...] = ()
    gpu_counts: tuple[int, ...] = ()
    log_scale: bool = True
    python: str = ""  # for workers; read by `chosen_python`

    def with_recent(self, path: str) -> "Settings":
        rest = tuple(other for other in self.recent if other != path)
        return msgspec.structs.replace(self, recent=(path, *rest)[:MOST_RECENT])

    def with_remembered(self, models: Iterable[Remembered]) -> "Settings":
        known = {each.path: each for each in (*self.remembered, *models)}
        kept = tuple(known.get(path, Remembered(path=path)) for path in self.recent)
        return msgspec.structs.replace(self, remembered=kept)

    def remembered_of(self, path: str) -> Remembered | None:
        return next((each for each in self.remembered if each.path == path), None)


class SettingsFile:
    def __init__(self, path: Path | None = None) -> None:
        self.path = path or settings_file()

    def read(self) -> tuple[Settings, str]:
        """The settings, and a sentence if they could not be read."""
        try:
            data = read_at_most(self.path, MAX_FILE_BYTES)
        except FileNotFoundError:
            return Settings(), ""
        except OSError as error:
            return Settings(), f"The settings in {self.path} can't be read ({error.strerror}): using the defaults."
        try:
            if len(data) > MAX_FILE_BYTES:
                raise msgspec.ValidationError(f"it has more than {MAX_FILE_BYTES} bytes")
            return msgspec.json.decode(data, type=Settings), ""
        except (msgspec.MsgspecError, PlannerError, UnicodeDecodeError, RecursionError) as error:
            return Settings(), self._set_aside(str(error))

    def write(self, settings: Settings, opened: Sequence[str] | None = None) -> str:
        """Save the settings. Returns a sentence if they could not be written.

        `opened`, the files opened in this window, are added to the recent files on disk, which another window may have
        changed meanwhile.
        """
        try:
            with alone(self.path.parent):
                if opened is not None:
                    on_disk = reduce(Settings.with_recent, opened, self.read()[0])
                    known = on_disk.with_remembered(settings.remembered)
                    settings = msgspec.structs.replace(settings, recent=known.recent, remembered=known.remembered)
                write_atomically(self.path, msgspec.json.format(msgspec.json.encode(settings), indent=2), private=True)
        except OSError as error:
            if self.path.is_relative_to(NOWHERE):
                return nothing_kept(self.path.parent, "")
            return f"The settings can't be saved to {self.path}: {reason(error)}."
        return ""

    def notice(self) -> str:
        """A sentence if settings can't be saved."""
        folder = self.path.parent
        why = why_not(folder)
        return f"{nothing_kept(folder, why)} Your choices are lost when the window is closed." if why else ""

    def _set_aside(self, why: str) -> str:
        aside = self.path.with_suffix(".broken.json")
        try:
            self.path.replace(aside)
        except OSError:
            return f"The settings in {self.path} are broken ({why}): using the defaults."
        return f"The settings were broken ({why}): using the defaults. The old file is now {aside}."
