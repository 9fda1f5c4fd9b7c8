"""Files of measurements, and the summary made of one."""

import msgspec
from fuzz_changes import changed_json as mutate

from fuzz_targets.common import READ, corpus, refused, written
from planner_app.core.measure.sample import why_not_calibrating
from planner_app.errors import PlannerError
from planner_app.files.kept.measurements import read_measurement, summary

KIND = "measurements"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("measurement/*.json")


def run(data: bytes) -> str:
    try:
        measured = read_measurement(written(data, "measured.json"))
    except PlannerError as error:
        return refused(error)
    msgspec.json.encode(summary(measured))
    why_not_calibrating(measured)
    return READ
