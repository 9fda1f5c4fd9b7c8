"""Logs on disk, for the doctor; with what the catalogue knows of the GPUs they name."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from planner_app.core.doctor import Diagnosis, diagnose
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.errors import DeviceError, PlannerError
from planner_app.files.devices.catalogue import catalogue
from planner_app.files.reading import pieces_of


def read_log(path: str | Path, layers: Sequence[str] = ()) -> Diagnosis:
    """`layers` are paths of the model's layers, if it is known."""
    try:
        return diagnosed(pieces_of(path), layers)
    except OSError as error:
        raise PlannerError(f"The log {str(path)!r} can't be read: {error.strerror or error}.") from error


def diagnosed(log: Iterable[bytes], layers: Sequence[str] = ()) -> Diagnosis:
    """Of a log that comes in pieces: pasted, dropped, or on standard input."""
    return diagnose(log, layers=layers, capacity=capacity_bytes)


def capacity_bytes(name: str) -> int | None:
    """What TensorFlow gets of an idle GPU of the catalogue; None for one that is not in it."""
    try:
        return allocator_limit_bytes(catalogue().find(name))
    except DeviceError:
        return None
