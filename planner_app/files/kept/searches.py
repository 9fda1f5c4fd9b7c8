"""A search for the largest batch that was not finished: its tries, to go on with."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from planner_app import __version__
from planner_app.core.measure.search import Try
from planner_app.files.home import cache_folder
from planner_app.files.writing import keep

FOLDER_VARIABLE = "PLIMSOLL_SEARCHES"


class SearchFile:
    """One search: what is tried, and everything else that its outcome depends on, make its name.

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
            return msgspec.json.decode(self._file.read_bytes(), type=tuple[Try, ...])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return ()

    def keep(self, tries: Sequence[Try]) -> None:
        keep(self._file, msgspec.json.encode(tuple(tries)))

    def forget(self) -> None:
        """The search is over, or is to start anew."""
        try:
            self._file.unlink(missing_ok=True)
        except OSError:
            return
