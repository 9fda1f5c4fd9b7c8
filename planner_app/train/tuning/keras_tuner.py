"""A KerasTuner that skips trials that can't fit, before they are trained:

    from planner_app.train.tuning.keras_tuner import that_fits

    tuner = that_fits(keras_tuner.RandomSearch, device="NVIDIA L4")(build, objective="val_loss", max_trials=50)
    tuner.search(x, y, batch_size=64, validation_split=0.2)

A trial that can't fit fails with the bytes that are missing, and the search goes on with the next one.
"""

from typing import Any

import keras_tuner

from planner_app.errors import PlannerError
from planner_app.train.feasibility import fits
from planner_app.train.notes import note
from planner_app.units import format_bytes

KERAS_BATCH = 32  # what Keras takes where nobody says


def that_fits(tuner: type, *, device: str, batch: int | str = "batch_size", **options: Any) -> type:
    """A kind of tuner as the given one, which asks before it trains.

    Args:
        tuner: A class such as `keras_tuner.Hyperband`.
        device: As `fits` takes it: "NVIDIA L4", "24GiB", "cpu:8GiB".
        batch: Samples per update, or the name of the hyperparameter that says it; where there is none of that name,
            what `search` is told as `batch_size`.
        options: More that `fits` takes: precision, optimizer, gpus, accumulate, jit, loss.
    """

    class Fitting(tuner):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._told: int | None = None
            # Three in a row end a search: that is meant for models that can't be built, not for large ones.
            self.oracle.max_consecutive_failed_trials = max(
                self.oracle.max_consecutive_failed_trials, self.oracle.max_trials or 0
            )

        def run_trial(self, trial: Any, *args: Any, **kwargs: Any) -> Any:
            self._told = kwargs.get("batch_size")
            return super().run_trial(trial, *args, **kwargs)

        def _try_build(self, hp: Any) -> Any:
            model = super()._try_build(hp)
            size = batch if isinstance(batch, int) else hp.values.get(batch, self._told or KERAS_BATCH)
            try:
                found = fits(model, int(size), device=device, **options)
            except PlannerError as error:
                note(f"Whether a trial fits can't be said, so it is trained: {error}")
                return model
            if found.fits is False:
                missing = -(found.headroom_bytes or 0)
                raise keras_tuner.errors.FailedTrialError(
                    f"With batch {size} the model needs {format_bytes(found.peak_bytes)}, {format_bytes(missing)} more "
                    f"than {device} has. Skip model."
                )
            return model

    Fitting.__name__ = Fitting.__qualname__ = f"Fitting{tuner.__name__}"
    return Fitting
