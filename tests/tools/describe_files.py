"""Every file named on the command line read and described, in one process: one JSON line each."""

import sys
import warnings
from pathlib import Path

import msgspec

from planner_app.errors import PlannerError
from planner_app.jobs.protocol import Describe, Inspect
from planner_app.worker.build.describe import describe
from planner_app.worker.inspect import inspect

CUSTOM = Path(__file__).parent.parent / "models" / "custom_classes.py"


def silent(*_: object) -> None:
    pass


def answer(path: str) -> dict[str, object]:
    custom = str(CUSTOM) if "custom" in Path(path).name else None
    try:
        checked = inspect(Inspect(path=path, custom=custom), silent)
        again = msgspec.json.decode(msgspec.json.encode(checked), type=type(checked))
        return {"file": Path(path).name, "description": describe(Describe(model=again), silent)}
    except PlannerError as error:
        return {"file": Path(path).name, "error": str(error), "detail": error.detail}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:]:
        sys.stdout.write(msgspec.json.encode(answer(name)).decode() + "\n")
