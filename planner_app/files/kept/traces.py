"""A disk cache of traces and the points computed from them, which makes opening a model again instant.

An entry records what it was made from and a digest. One that does not match is recomputed, never trusted.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

import planner_app
from planner_app import __version__
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import StepSetup
from planner_app.core.model.trace import StepTrace
from planner_app.core.replay.memory import Point
from planner_app.files.home import cache_folder
from planner_app.files.reading import pieces_of, read_at_most
from planner_app.files.writing import BEGIN, keep

T = TypeVar("T")

FORMAT = "plimsoll trace 3"
MOST_BYTES = 1 << 30  # of the whole folder; the oldest entries are removed first
MOST_OF_A_HEAD = 1 << 10
FOLDER_VARIABLE = "PLIMSOLL_CACHE"


class _Points(msgspec.Struct, frozen=True):
    """Attributes:
    of: The digest of the trace they were worked out from.
    """

    of: str
    points: tuple[Point, ...]


class TraceCache:
    """One folder. A folder that can't be written is not an error: nothing is remembered then."""

    def __init__(self, folder: Path | None = None) -> None:
        given = os.environ.get(FOLDER_VARIABLE)
        self.folder = folder or (Path(given) if given else cache_folder() / "traces")

    def trace(self, key: str) -> StepTrace | None:
        return self._read(key, "trace", StepTrace)

    def digest(self, key: str) -> str:
        """Of the trace that is kept; empty where none is."""
        try:
            with self._path(key, "trace").open("rb") as file:
                head = file.readline(MOST_OF_A_HEAD).decode().split()
        except (OSError, UnicodeDecodeError):
            return ""
        return head[-1] if head else ""

    def points(self, key: str) -> tuple[Point, ...]:
        """Those of the trace that is kept: another process may have replaced it by one in another order."""
        kept = self._read(key, "points", _Points)
        return kept.points if kept is not None and kept.of == self.digest(key) else ()

    def keep_trace(self, key: str, trace: StepTrace) -> str:
        """Returns its digest."""
        digest = self._write(key, "trace", trace)
        self._prune()
        return digest

    def keep_points(self, key: str, points: Iterable[Point], of: str) -> None:
        """`of` is the digest of the trace they were worked out from."""
        self._write(key, "points", _Points(of, tuple(points)))

    def _path(self, key: str, kind: str) -> Path:
        return self.folder / f"{key}.{kind}"

    def _read(self, key: str, kind: str, type_: type[T]) -> T | None:
        try:
            head, _, body = read_at_most(self._path(key, kind), MOST_BYTES).partition(b"\n")
            if head.decode() != _head(key, kind, body):
                return None
            return msgspec.json.decode(body, type=type_)
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError, RecursionError):
            return None

    def _write(self, key: str, kind: str, value: object) -> str:
        body = msgspec.json.encode(value)
        keep(self._path(key, kind), _head(key, kind, body).encode() + b"\n" + body)
        return _digest_of(body)

    def _prune(self) -> None:
        """Ignores files that another process has removed or is writing; files that can't be removed stay."""
        entries = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                if entry.is_file(follow_symlinks=False) and not entry.name.startswith(BEGIN):
                    with contextlib.suppress(OSError):
                        entries.append((entry.stat().st_mtime, entry.stat().st_size, entry.path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= MOST_BYTES:
                return
            with contextlib.suppress(OSError):
                Path(path).unlink()
            total -= size


def trace_key(model: CheckedModel, setup: StepSetup, versions: Mapping[str, str]) -> str:
    """A trace depends only on the configuration, the setup, the user's own code and the versions.

    `versions` are those of the Python that traces, see `jobs.versions`.
    """
    custom = (model.custom or "").rpartition(":")[0] if model.format == "python" else model.custom
    parts = [
        FORMAT,
        _own_code(),
        *(versions.get(package, "") for package in (str(setup.backend), "keras", "keras-hub")),
        *model.trusted,
        msgspec.json.encode(model.config, order="deterministic").hex(),
        msgspec.json.encode(model.compile_config, order="deterministic").hex(),
        model.custom or "",
        _digest(custom),
        model.data or "",
        _digest((model.data or "").rpartition(":")[0]),
        msgspec.json.encode(setup).hex(),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:40]


def _digest(file: str | None) -> str:
    if not file or not Path(file).is_file():
        return ""
    digest = hashlib.sha256()
    for piece in pieces_of(file):  # whatever its size
        digest.update(piece)
    return digest.hexdigest()


def _head(key: str, kind: str, body: bytes) -> str:
    return f"{FORMAT} {kind} {key} {_digest_of(body)}"


def _digest_of(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


@cache
def _own_code() -> str:
    """A digest of the code that makes traces and points, so that changed physics never uses old figures."""
    package = Path(planner_app.__file__).parent
    digest = hashlib.sha256(__version__.encode())
    for folder in ("core", "worker"):
        for source in sorted((package / folder).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()
