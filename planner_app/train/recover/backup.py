"""Checkpoints of a supervised run, so that the process that is started next goes on where the last one ended.

Unlike Keras' `BackupAndRestore`, they hold everything: seeds of dropout, metrics in the middle of an epoch, what
callbacks count, the history; and how many batches of the epoch are trained. The next process reads these once more and
does not train them again.
"""

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from planner_app.errors import PlanError
from planner_app.files.run_folder import STATE
from planner_app.files.writing import keep, reason
from planner_app.train.building import updates_of
from planner_app.train.notes import note
from planner_app.train.recover.callbacks import CALLBACK, counts, kept_weights, restore_counts
from planner_app.train.recover.run import Checkpoint, ChildRun, checkpoints
from planner_app.train.recover.state import all_state

if TYPE_CHECKING:
    from planner_app.train.plan import TrainingPlan

KEPT = 2  # of several hosts one may be a checkpoint ahead
ABOUT = "about"
METADATA = "training_metadata.json"


class Backup:
    """What a run that nobody supervises has: at most the checkpoint of Keras' own callback."""

    def __init__(self, model: Any, watched: Any) -> None:
        self._model, self._watched = model, watched
        callbacks = [each for each in watched.callbacks if isinstance(each, keras.callbacks.BackupAndRestore)]
        self._theirs = callbacks[0] if callbacks else None
        self._theirs_trained = _trained(self._theirs) if self._theirs is not None else 0  # before it begins anew

    @property
    def pending(self) -> bool:
        """Whether variables wait to be restored until the model is built."""
        return False

    def position(self, initial_epoch: int) -> tuple[int, int]:
        """The epoch to go on with, and how many of its batches are trained. After `on_train_begin`."""
        epoch = int(getattr(self._model, "_initial_epoch", None) or initial_epoch)
        if self._theirs is None:
            return epoch, 0
        self._continue_theirs(epoch, self._theirs_trained)
        return epoch, self._theirs_trained

    def _continue_theirs(self, epoch: int, trained: int) -> None:
        """Keras' callback does not say, after it has restored, where the run is: its next checkpoint would be wrong."""
        if self._theirs is not None:
            self._theirs._current_epoch = epoch
            self._theirs._last_batch_seen = max(trained - 1, 0)

    def load(self) -> None:
        pass

    def end_step(self, epoch: int, step: int) -> None:
        pass

    def end_epoch(self, epoch: int) -> None:
        pass

    def finish(self, epochs: int) -> None:
        pass


class SupervisedBackup(Backup):
    """Writes a checkpoint after every epoch, or every so many updates."""

    def __init__(self, plan: "TrainingPlan", model: Any, watched: Any, run: ChildRun, fit: int) -> None:
        super().__init__(model, watched)
        self._plan, self._run, self._fit = plan, run, fit
        self._found = run.usable(fit)
        self._about = _read_about(run.folder / self._found.file) if self._found is not None else {}
        self._serial = self._found.serial + 1 if self._found is not None else 0
        self._since = 0
        self._waiting = self._found is not None

    @property
    def pending(self) -> bool:
        return self._waiting

    def position(self, initial_epoch: int) -> tuple[int, int]:
        if self._found is None:
            return super().position(initial_epoch)
        epoch, trained = int(self._about["epoch"]), int(self._about["trained"])
        self._continue_theirs(epoch, trained)
        return epoch, trained

    def load(self) -> None:
        """Everything as it was; the model is built."""
        assert self._found is not None
        path = self._run.folder / self._found.file
        variables = all_state(self._model.distribute_strategy, self._model)
        with np.load(path) as saved:
            arrays = [saved[f"v{n}"] for n in range(int(self._about["variables"]))]
            others = {name: saved[name].tobytes() for name in saved.files if name.startswith(CALLBACK)}
        if len(arrays) != len(variables) or any(
            int(a.nbytes) != _bytes(parts[0]) for a, parts in zip(arrays, variables, strict=False)
        ):
            raise PlanError(
                f"The checkpoint {str(path)!r} is of another model: start the run in another folder (--folder), or "
                "delete that one."
            )
        for raw, parts in zip(arrays, variables, strict=True):
            value = np.frombuffer(raw.tobytes(), parts[0].dtype.as_numpy_dtype).reshape(parts[0].shape)
            for part in parts:
                part.assign(value)
        self._restore_callbacks(others)
        self._waiting = False

    def end_step(self, epoch: int, step: int) -> None:
        self._since += 1
        if self._run.every is not None and self._since >= self._run.every:
            self._save(epoch, step + 1)

    def end_epoch(self, epoch: int) -> None:
        self._save(epoch + 1, 0)

    def finish(self, epochs: int) -> None:
        """A script may train more than once: what is done is not done again."""
        self._save(epochs, 0)

    def _save(self, epoch: int, trained: int) -> None:
        self._since = 0
        variables = all_state(self._model.distribute_strategy, self._model)
        about = {
            "epoch": epoch,
            "trained": trained,
            "rung": self._plan.rung,
            "variables": len(variables),
            "history": _numbers(self._history.history),
            "epochs": list(self._history.epoch),
            "callbacks": [counts(each) for each in self._watched.callbacks],
            "stop": bool(self._model.stop_training),
        }
        arrays = {f"v{n}": np.frombuffer(_raw(parts[0].numpy()), np.uint8) for n, parts in enumerate(variables)}
        arrays |= {key: np.frombuffer(_raw(each), np.uint8) for key, each in kept_weights(self._watched.callbacks)}
        arrays[ABOUT] = np.frombuffer(json.dumps(about).encode(), np.uint8)
        checkpoint = Checkpoint(self._fit, self._serial)
        try:
            _write(self._run.folder / checkpoint.file, arrays)
        except OSError as error:
            note(f"The checkpoint can't be written: {reason(error)}. The run would go on from the one before.")
            return
        self._serial += 1
        for old in [each for each in checkpoints(self._run.folder) if each.fit == self._fit][:-KEPT]:
            with suppress(OSError):
                (self._run.folder / old.file).unlink()
        said = {"rung": self._plan.rung, "fit": self._fit, "epoch": epoch, "trained": trained, **self._updates()}
        keep(self._run.folder / STATE, json.dumps(said).encode())

    def _updates(self) -> dict[str, int]:
        return {"updates": updates_of(self._model)}

    @property
    def _history(self) -> Any:
        return next(each for each in self._watched.callbacks if isinstance(each, keras.callbacks.History))

    def _restore_callbacks(self, arrays: dict[str, bytes]) -> None:
        self._history.history = {name: list(values) for name, values in self._about["history"].items()}
        self._history.epoch = list(self._about["epochs"])
        restore_counts(self._watched.callbacks, self._about["callbacks"], arrays)
        self._model.stop_training = bool(self._about["stop"])


def backup_of(plan: "TrainingPlan", model: Any, watched: Any) -> Backup:
    """Under `plimsoll run` one of our own; else what Keras' callback keeps, if the script has one."""
    if plan.run is None:
        return Backup(model, watched)
    return SupervisedBackup(plan, model, watched, plan.run, plan.next_fit())


def _trained(theirs: Any) -> int:
    """How many batches of an epoch Keras' checkpoint holds: it knows, and Keras' fit does not ask it."""
    if theirs.save_freq == "epoch":
        return 0
    try:
        said = json.loads(Path(theirs.backup_dir, METADATA).read_text(encoding="utf-8"))
        return int(said["batch"]) + 1
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _numbers(history: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: [np.asarray(value).tolist() for value in values] for name, values in history.items()}


def _raw(value: Any) -> bytes:
    return bytes(np.ascontiguousarray(value).tobytes())


def _bytes(variable: Any) -> int:
    return int(np.prod(variable.shape)) * int(variable.dtype.size)


def _read_about(path: Path) -> dict[str, Any]:
    try:
        with np.load(path) as saved:
            found: dict[str, Any] = json.loads(saved[ABOUT].tobytes())
            return found
    except (OSError, ValueError, KeyError) as error:
        raise PlanError(
            f"The checkpoint {str(path)!r} can't be read: delete it to go on from the one before."
        ) from error


def _write(path: Path, arrays: dict[str, Any]) -> None:
    """Whole, or not at all, and not twice in memory."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink()
