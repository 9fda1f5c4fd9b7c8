"""Logs on disk, for the doctor: compressed, in archives, as notebooks or TensorBoard files; with what the catalogue
knows of the GPUs they name."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from planner_app.core.doctor import Diagnosis, Evidence, Finding, Sure, diagnose
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.errors import DeviceError, PlannerError
from planner_app.files.devices.catalogue import catalogue
from planner_app.files.logs.opening import LogPart, OfPieces, parts
from planner_app.files.reading import opened

__all__ = ["capacity_bytes", "diagnosed", "diagnosed_stream", "most_telling", "read_log"]

MOST_NAMED = 5


def read_log(path: str | Path, layers: Sequence[str] = ()) -> Diagnosis:
    """`layers` are paths of the model's layers, if it is known."""
    try:
        file = opened(path)
        with file if isinstance(file, BufferedReader) else OfPieces(file) as log:
            return diagnosed_stream(log, layers, name=Path(path).name)
    except OSError as error:
        raise PlannerError(f"The log {str(path)!r} can't be read: {error.strerror or error}.") from error


def diagnosed_stream(log: BinaryIO, layers: Sequence[str] = (), *, name: str = "") -> Diagnosis:
    """Of a file that may be compressed, an archive, a notebook or TensorBoard's."""
    return most_telling([_of_part(part, layers) for part in parts(log, name)])


def most_telling(found: Sequence[tuple[str, Diagnosis]]) -> Diagnosis:
    """Of the logs of one run, one for each process, say: the others are counted and named."""
    if not found:
        return diagnosed([])
    ranked = sorted(found, key=lambda each: _weight(each[1]))
    name, best = ranked[0]
    failed = [other for other, diagnosis in ranked[1:] if diagnosis.kind.failed]
    if len(found) == 1 or not best.kind.failed:
        return best
    more = f"; so do {', '.join(failed[:MOST_NAMED])}" if failed else ""
    said = Finding(f"{len(found)} files were read; {name} holds the failure that is told here{more}.")
    return replace(best, rank=best.rank or name, notes=(*best.notes, said))


def _weight(diagnosis: Diagnosis) -> tuple[bool, int]:
    return not diagnosis.kind.failed, list(Sure).index(diagnosis.sure)


def _of_part(part: LogPart, layers: Sequence[str]) -> tuple[str, Diagnosis]:
    found = diagnosed(part, layers)
    notes = (*found.notes, *(Finding(note) for note in part.notes))
    if part.places:
        notes = tuple(Finding(note.text, tuple(_placed(note.evidence, part))) for note in notes)
    return part.name, replace(found, evidence=tuple(_placed(found.evidence, part)), notes=notes)


def diagnosed(log: Iterable[bytes], layers: Sequence[str] = ()) -> Diagnosis:
    """Of plain text that comes in pieces: pasted, or on standard input."""
    return diagnose(log, layers=layers, capacity=capacity_bytes)


def capacity_bytes(name: str) -> int | None:
    """What TensorFlow gets of an idle GPU of the catalogue; None for one that is not in it."""
    try:
        return allocator_limit_bytes(catalogue().find(name))
    except DeviceError:
        return None


def _placed(lines: Iterable[Evidence], part: LogPart) -> Iterator[Evidence]:
    return (replace(evidence, place=part.place_of(evidence.line)) for evidence in lines)
