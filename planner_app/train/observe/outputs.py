"""Where `plan.watch()` writes what each update took: TensorBoard, or a table."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import tensorflow as tf

from planner_app.errors import PlanError
from planner_app.files.writing import reason

COLUMNS = (
    *("update", "epoch", "rung", "peak_bytes", "between_bytes"),
    *("planned_bytes", "planned_low_bytes", "planned_high_bytes", "seconds"),
)


@dataclass(frozen=True, slots=True)
class Planned:
    """Of all replicas that share an allocator."""

    expected_bytes: int
    low_bytes: int
    high_bytes: int


@dataclass(frozen=True, slots=True)
class Line:
    """One update; `between_bytes` is in use after it."""

    update: int
    epoch: int
    rung: int
    peak_bytes: int
    between_bytes: int
    planned: Planned
    seconds: float


class Output(Protocol):
    def write(self, line: Line) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class TensorBoardOutput:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer: Any = None

    def write(self, line: Line) -> None:
        if self._writer is None:
            self._writer = tf.summary.create_file_writer(str(self._folder))
        values = {
            "peak": line.peak_bytes,
            "planned": line.planned.expected_bytes,
            "planned_low": line.planned.low_bytes,
            "planned_high": line.planned.high_bytes,
            "between_steps": line.between_bytes,
        }
        with self._writer.as_default(step=line.update), tf.device("CPU:0"):
            for name, value in values.items():
                tf.summary.scalar(f"memory/{name}_gib", value / (1 << 30))
            tf.summary.scalar("memory/rung", line.rung)

    def flush(self) -> None:
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class CsvOutput:
    """Attributes:
    goes_on: Whether a process before this one may have written lines; those of updates that come again are dropped.
    """

    def __init__(self, path: Path, goes_on: bool = False) -> None:
        self._path, self._goes_on = path, goes_on
        try:
            self._open([] if not goes_on or not path.exists() else _lines(path))
        except OSError as error:
            raise PlanError(f"{str(path)!r} can't be written: {reason(error)}.") from error

    def write(self, line: Line) -> None:
        if self._goes_on:
            self._goes_on = False
            self._file.close()
            self._open([each for each in _lines(self._path) if int(each[0]) < line.update])
        planned = line.planned
        self._table.writerow(
            (
                *(line.update, line.epoch, line.rung, line.peak_bytes, line.between_bytes),
                *(planned.expected_bytes, planned.low_bytes, planned.high_bytes, f"{line.seconds:.6f}"),
            )
        )

    def _open(self, lines: list[list[str]]) -> None:
        self._file = self._path.open("w", newline="", encoding="utf-8")
        self._table = csv.writer(self._file)
        self._table.writerows([COLUMNS, *lines])
        self._file.flush()

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _lines(path: Path) -> list[list[str]]:
    """What is whole of it."""
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        return [each for each in csv.reader(file) if len(each) == len(COLUMNS) and each[0].isdecimal()]
