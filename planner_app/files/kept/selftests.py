"""A self-test as one file: calibrations that `calibrate --import` takes in, and beside them where they come from."""

from pathlib import Path

import msgspec

from planner_app.core.measure.calibration import Calibration
from planner_app.core.measure.selftest import SelfTest
from planner_app.errors import PlannerError
from planner_app.files.kept.calibrations import FORMAT, VERSION
from planner_app.files.writing import reason, write_atomically


class _File(msgspec.Struct):
    calibrations: tuple[Calibration, ...]
    selftest: SelfTest
    format: str = FORMAT
    version: int = VERSION


def write_selftest(path: Path, found: SelfTest, calibrations: tuple[Calibration, ...]) -> None:
    text = msgspec.json.format(msgspec.json.encode(_File(calibrations, found)), indent=1) + b"\n"
    write_page(path, text)


def write_page(path: Path, text: bytes) -> None:
    try:
        write_atomically(path, text)
    except OSError as error:
        raise PlannerError(f"The self-test can't be written to {str(path)!r}: {reason(error)}.") from error
