"""A training run that has finished is a measurement: what its steps took, on the rung that it ended on.

read_run(Path("demo.plan.run"))             the folder of `plimsoll run`
read_run(Path("demo.plan.run/run.json"))    what it says about the run
read_run(Path("memory.json"))               what `plan.watch("memory.json")` or `plimsoll measure` has written
"""

import json
from contextlib import suppress
from pathlib import Path

from planner_app.core.measure.measurement import Measurement
from planner_app.errors import PlannerError
from planner_app.files.kept.measurements import read_measurement
from planner_app.files.reading import read_at_most
from planner_app.files.run_folder import MEASUREMENT, REPORT, host_folder

MOST_BYTES = 16 << 20


def read_run(path: Path) -> Measurement:
    """
    Raises:
        PlannerError: There is no measurement, or it can't be read: the sentence says why.
    """
    if path.is_dir():
        return _of_folder(path)
    return _of_folder(path.parent) if _is_report(path) else read_measurement(path)


def _of_folder(folder: Path) -> Measurement:
    """Of several hosts the first one's, which trains as the others do."""
    places = (folder, folder / host_folder(0))
    for place in places:
        if (place / MEASUREMENT).exists():
            return read_measurement(place / MEASUREMENT)
    if any((place / REPORT).exists() for place in places):
        raise PlannerError(
            f"The run in {str(folder)!r} has left no measurement, because no training in it has come to its end: let "
            "it finish with `plimsoll run`, then open it again."
        )
    raise PlannerError(
        f"The folder {str(folder)!r} is not a training run: expected one that `plimsoll run` has written."
    )


def _is_report(path: Path) -> bool:
    """Whether a file says what happened in a run; a measurement may have the same name."""
    with suppress(OSError, ValueError, RecursionError):
        read = json.loads(read_at_most(path, MOST_BYTES))
        return isinstance(read, dict) and "tries" in read and "command" in read
    return False
