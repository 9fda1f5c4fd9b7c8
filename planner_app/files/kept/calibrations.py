"""Calibrations in the user's folder, one file for each kind of device and set of versions."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from planner_app.core.measure.calibration import Calibration, Sample
from planner_app.core.model.setup import Backend
from planner_app.errors import PlannerError
from planner_app.files.home import data_folder
from planner_app.files.reading import read_at_most
from planner_app.files.writing import alone, reason, write_atomically

FORMAT = "plimsoll calibrations"
VERSION = 1
FOLDER_VARIABLE = "PLIMSOLL_CALIBRATIONS"
MAX_FILE_BYTES = 16 << 20
MOST_BYTES = 1 << 60  # of memory: far beyond any machine, yet safe to calculate with


class _File(msgspec.Struct):
    calibrations: tuple[Calibration, ...]
    format: str = FORMAT
    version: int = VERSION


class Calibrations:
    """Calibrations made on this machine or imported from another one."""

    def __init__(self, folder: Path | None = None) -> None:
        given = os.environ.get(FOLDER_VARIABLE)
        self.folder = folder or (Path(given) if given else data_folder() / "calibrations")

    def all(self) -> tuple[Calibration, ...]:
        """Skips unreadable files: estimates work without them."""
        return tuple(self._each())

    def find(
        self, device: str, *, xla: bool, versions: Mapping[str, str], backend: Backend = Backend.TENSORFLOW
    ) -> Calibration | None:
        """The one for these versions of the worker's packages: memory differs with others."""
        of = {str(backend): versions.get(str(backend), "")}
        wanted = (device.casefold(), of.get("tensorflow", ""), versions.get("keras", ""), xla, of.get("jax", ""))
        return next((each for each in self._each() if _key(each) == wanted), None)

    def add(
        self, sample: Sample, *, device: str, tensorflow: str, keras: str, driver: str | None, xla: bool, jax: str = ""
    ) -> Calibration:
        """Add a measurement to those known. It replaces an earlier one of the same point."""
        return self.take_in([Calibration(device, tensorflow, keras, xla, (sample,), driver, jax)])[0]

    def take_in(self, calibrations: Iterable[Calibration]) -> tuple[Calibration, ...]:
        """Add all their measurements to those known here."""
        with self._changing():
            return tuple(map(self._merge, calibrations))

    def forget(self, device: str | None = None) -> int:
        """Delete the calibrations of one device or of all. Returns how many there were."""
        gone = [each for each in self.all() if device is None or each.device.casefold() == device.casefold()]
        if gone:
            with self._changing():
                for each in gone:
                    self._file(each).unlink(missing_ok=True)
        return len(gone)

    def export(self, path: Path) -> int:
        found = self.all()
        try:
            write_atomically(
                path, msgspec.json.format(msgspec.json.encode(_File(found)), indent=1) + b"\n", private=True
            )
        except OSError as error:
            raise PlannerError(f"Calibrations can't be written to {str(path)!r}: {reason(error)}.") from error
        return len(found)

    def import_file(self, path: Path) -> tuple[Calibration, ...]:
        """Import calibrations of another machine. Their measurements are added to those known here."""
        return self.take_in(_read(path))

    def _each(self) -> Iterator[Calibration]:
        try:
            files = sorted(self.folder.glob("*.json"))
        except OSError:
            return
        for file in files:
            try:
                yield from _read(file)
            except PlannerError:
                continue

    def _file(self, calibration: Calibration) -> Path:
        return self.folder / f"{hashlib.sha256(repr(_key(calibration)).encode()).hexdigest()[:16]}.json"

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Locks the folder, so that no other process interferes between reading and writing back."""
        try:
            with alone(self.folder):
                yield
        except OSError as error:
            where = str(error.filename or self.folder)
            raise PlannerError(f"The calibration can't be written to {where!r}: {reason(error)}.") from error

    def _merge(self, calibration: Calibration) -> Calibration:
        merged = next((own for own in self._each() if _key(own) == _key(calibration)), calibration)
        for sample in calibration.samples:
            merged = merged.with_sample(sample)
        path = self._file(merged)
        write_atomically(path, msgspec.json.format(msgspec.json.encode(_File((merged,))), indent=1))
        return merged


def _read(path: Path) -> tuple[Calibration, ...]:
    try:
        data = read_at_most(path, MAX_FILE_BYTES)
        if len(data) > MAX_FILE_BYTES:
            raise PlannerError(f"{str(path)!r} is larger than {MAX_FILE_BYTES >> 20} MiB: these are not calibrations.")
        read = msgspec.json.decode(data, type=_File)
    except OSError as error:
        raise PlannerError(f"The calibrations {str(path)!r} can't be read: {reason(error)}.") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PlannerError(f"{str(path)!r} does not hold calibrations: {error}.") from error
    if read.format != FORMAT or read.version > VERSION:
        why = "it is another kind of file" if read.format != FORMAT else "a newer plimsoll wrote it: update this one"
        raise PlannerError(f"{str(path)!r} has no calibrations that can be read: {why}.")
    for each in read.calibrations:
        if not each.samples or not all(map(_makes_sense, each.samples)):
            raise PlannerError(f"{str(path)!r} contains a calibration of {each.device} with impossible measurements.")
    return read.calibrations


def _makes_sense(sample: Sample) -> bool:
    sizes = (sample.estimated_bytes, *sample.measured_bytes)
    others = (sample.outside_bytes or 0, sample.limit_bytes or 0)
    return bool(sample.measured_bytes) and all(0 < n < MOST_BYTES for n in sizes) and max(map(abs, others)) < MOST_BYTES


def _key(calibration: Calibration) -> tuple[str, str, str, bool, str]:
    each = calibration
    return each.device.casefold(), each.tensorflow, each.keras, each.xla, each.jax
