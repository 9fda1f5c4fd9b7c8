"""Optuna trials that can't fit are pruned before they are trained:

from planner_app.train.tuning.optuna import prune_unless_fits

def objective(trial):
    model = build(trial)
    batch = trial.suggest_int("batch", 16, 4096, log=True)
    prune_unless_fits(trial, model, batch, device="NVIDIA L4")
    return train(model, batch)
"""

from typing import Any

import optuna

from planner_app.train.feasibility import fits
from planner_app.units import format_bytes


def prune_unless_fits(trial: Any, model: Any, batch: int, *, device: str, **options: Any) -> Any:
    """What `fits` says, which the trial keeps as user attributes.

    Raises:
        optuna.TrialPruned: The model does not fit.
        PlannerError: It can't be said.
    """
    found = fits(model, batch, device=device, **options)
    trial.set_user_attr("plimsoll_peak_bytes", found.peak_bytes)
    trial.set_user_attr("plimsoll_headroom_bytes", found.headroom_bytes)
    if found.fits is False:
        raise optuna.TrialPruned(
            f"With batch {batch} the model needs {format_bytes(found.peak_bytes)}, "
            f"{format_bytes(-(found.headroom_bytes or 0))} more than {device} has."
        )
    return found
