"""`run.json`: what happened in a supervised run, for people and programs. Written after every change."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from planner_app.errors import PlanError
from planner_app.files.reading import read_at_most
from planner_app.files.run_folder import REPORT, STATE
from planner_app.files.writing import keep

VERSION = 1
MOST_BYTES = 16 << 20


@dataclass(slots=True)
class Try:
    """One process. `epoch` and `trained` say how far its last checkpoint goes: batches trained of that epoch."""

    rung: int
    started: str
    checkpoint: str = ""
    ended: str = ""
    end: str = ""
    code: int | None = None
    reason: str = ""
    last_rung: int | None = None
    epoch: int | None = None
    trained: int | None = None
    updates: int | None = None


@dataclass(slots=True)
class RunReport:
    """Attributes:
    command: What was started.
    finished: Whether the script came to its end.
    """

    plan: str
    command: list[str]
    seed: int
    worker: int = 0
    hosts: int = 1
    schema_version: int = VERSION
    finished: bool = False
    code: int | None = None
    reason: str = ""
    tries: list[Try] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        keep(folder / REPORT, (json.dumps(asdict(self), indent=2) + "\n").encode())


def read_report(folder: Path) -> RunReport | None:
    """What a run in this folder has left; None where there is none.

    Raises:
        PlanError: It can't be read.
    """
    path = folder / REPORT
    try:
        data = read_at_most(path, MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PlanError(f"{str(path)!r} can't be read: {error.strerror}.") from error
    try:
        read = json.loads(data)
        if read["schema_version"] != VERSION:
            raise PlanError(f"{str(path)!r} is of another version of plimsoll: choose another folder with --folder.")
        return RunReport(**{**read, "tries": [Try(**each) for each in read["tries"]]})
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PlanError(f"{str(path)!r} is damaged: delete it to start the run anew.") from error


def read_state(folder: Path) -> dict[str, Any]:
    """What the training process has said last; empty where it said nothing."""
    try:
        read = json.loads(read_at_most(folder / STATE, MOST_BYTES))
        return {name: value for name, value in read.items() if isinstance(value, int)}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}
