"""A run under `plimsoll run`, as the training process sees it: what the supervisor says through the environment.

    PLIMSOLL_RUN         the run's folder, where checkpoints go
    PLIMSOLL_RUNG        the rung to train on
    PLIMSOLL_EVERY       a checkpoint after so many updates; not set: after every epoch
    PLIMSOLL_SEED        for scripts that set none, so that a process that is started again shuffles alike
    PLIMSOLL_CHECKPOINT  on several hosts: the newest checkpoint that all of them have, as "fit.serial"; "-" for none

Standard library only: training scripts import this before TensorFlow.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from planner_app.errors import PlanError

FOLDER, RUNG, EVERY, SEED = "PLIMSOLL_RUN", "PLIMSOLL_RUNG", "PLIMSOLL_EVERY", "PLIMSOLL_SEED"
CHECKPOINT, PLAN, DEVICE = "PLIMSOLL_CHECKPOINT", "PLIMSOLL_PLAN", "PLIMSOLL_DEVICE"
NONE = "-"
_NAME = re.compile(r"fit(\d{1,6})\.(\d{1,12})\.npz")


@dataclass(frozen=True, slots=True, order=True)
class Checkpoint:
    """Number `serial` of the checkpoints of the script's call number `fit` of plan.fit()."""

    fit: int
    serial: int

    @property
    def file(self) -> str:
        return f"fit{self.fit}.{self.serial}.npz"

    def __str__(self) -> str:
        return f"{self.fit}.{self.serial}"


@dataclass(frozen=True, slots=True)
class ChildRun:
    """Attributes:
    every: Updates between checkpoints; None for one after each epoch.
    newest: The newest checkpoint to go on from; None for the newest that is there.
    """

    folder: Path
    every: int | None
    seed: int | None
    newest: Checkpoint | None
    from_nothing: bool = False

    def usable(self, fit: int) -> Checkpoint | None:
        """Where this call of plan.fit() goes on from."""
        if self.from_nothing:
            return None
        found = [each for each in checkpoints(self.folder) if each.fit == fit]
        if self.newest is not None:
            found = [each for each in found if each <= self.newest]
        return max(found, default=None)


def child_run() -> ChildRun | None:
    """The run that this process belongs to; None where nobody supervises it."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return None
    said = os.environ.get(CHECKPOINT, "")
    newest = None
    if said and said != NONE:
        fit, _, serial = said.partition(".")
        newest = Checkpoint(_number(CHECKPOINT, fit), _number(CHECKPOINT, serial))
    return ChildRun(
        Path(folder),
        _number(EVERY, os.environ[EVERY]) if os.environ.get(EVERY) else None,
        _number(SEED, os.environ[SEED]) if os.environ.get(SEED) else None,
        newest,
        said == NONE,
    )


def rung_from_environment() -> int | None:
    said = os.environ.get(RUNG)
    return _number(RUNG, said) if said else None


def checkpoints(folder: Path) -> list[Checkpoint]:
    """All that are whole: a file gets its name when it is."""
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return []
    found = [_NAME.fullmatch(name) for name in names]
    return sorted(Checkpoint(int(match[1]), int(match[2])) for match in found if match)


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 12:
        raise PlanError(f"{name} is {text[:40]!r} in the environment: expected a whole number.")
    return int(text)
