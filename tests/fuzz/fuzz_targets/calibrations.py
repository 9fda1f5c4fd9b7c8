"""Files of calibrations: brought here from another machine, found again, spoken of."""

from fuzz_changes import changed_json as mutate

from fuzz_targets.common import READ, corpus, emptied, refused, written
from planner_app.core.estimate.level import Level
from planner_app.core.measure.calibration import calibrated_level, sentence
from planner_app.errors import PlannerError
from planner_app.files.kept.calibrations import Calibrations

KIND = "files of the app's own"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("calibrations/*.json")


def run(data: bytes) -> str:
    store = Calibrations(emptied("calibrations"))
    try:
        for each in store.import_file(written(data, "brought.json")):
            sentence(each)
            calibrated_level(Level(1 << 30, 1 << 29, 1 << 31), each)
            store.find(each.device, xla=each.xla, versions={"tensorflow": each.tensorflow, "keras": each.keras})
    except PlannerError as error:
        return refused(error)
    return READ
