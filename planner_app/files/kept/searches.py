"""The tries of an unfinished search for the largest batch, kept to continue it later."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from planner_app import __version__
from planner_app.core.measure.search import Try
from planner_app.files.home import cache_folder
from planner_app.files.reading import read_at_most
from planner_app.files.writing import keep

FOLDER_VARIABLE = "PLIMSOLL_SEARCHES"
MAX_FILE_BYTES = 16 << 20


class SearchFile:
    """One search. Its file name is a digest of everything that its outcome depends on.

    A folder that can't be written is not an error: the search can't be gone on with then.
    """

    def __init__(self, *about: Any, folder: Path | None = None) -> None:
        given = os.environ.get(FOLDER_VARIABLE)
        folder = folder or (Path(given) if given else cache_folder() / "searches")
        digest = hashlib.sha256(__version__.encode())
        for part in about:
            digest.update(msgspec.json.encode(part, order="deterministic"))
        self._file = folder / f"{digest.hexdigest()[:40]}.json"

    def read(self) -> tuple[Try, ...]:
        try:
            return msgspec.json.decode(read_at_most(self._file, MAX_FILE_BYTES), type=tuple[Try, ...])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return ()

    def keep(self, tries: Sequence[Try]) -> None:
        keep(self._file, msgspec.json.encode(tuple(tries)))

    def forget(self) -> None:
        """The search is finished, or will start over."""
        try:
            self._file.unlink(missing_ok=True)
        except OSError:
            return
