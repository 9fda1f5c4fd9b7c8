"""Searches by KerasTuner and Optuna that skip what can't fit, in a child process: `python tuning.py FOLDER`."""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import keras
import keras_tuner
import numpy as np
import optuna

from planner_app.train import fitting
from planner_app.train.tuning.keras_tuner import that_fits
from planner_app.train.tuning.optuna import prune_unless_fits

DEVICE = "cpu:16MiB"  # a layer of 4096 x 32 with Adam's slots takes far less, one of 4096 x 4096 far more
WIDTHS = [32, 4096]
folder = Path(sys.argv[1])
x, y = np.random.default_rng(0).normal(size=(64, 256)).astype("float32"), np.zeros((64, 1), "float32")


def built(width: int) -> Any:
    model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(width), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def keras_tuner_search() -> dict[str, Any]:
    tuner = that_fits(keras_tuner.GridSearch, device=DEVICE)(
        lambda hp: built(hp.Choice("width", WIDTHS)), objective="loss", directory=folder, project_name="search"
    )
    tuner.search(x, y, batch_size=16, epochs=1, verbose=0)
    trials = tuner.oracle.trials.values()
    return {
        "statuses": {str(trial.hyperparameters.get("width")): trial.status for trial in trials},
        "messages": [trial.message for trial in trials if trial.message],
        "best": tuner.get_best_hyperparameters()[0].get("width"),
    }


def optuna_search() -> dict[str, Any]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: Any) -> float:
        model = built(trial.suggest_categorical("width", WIDTHS))
        prune_unless_fits(trial, model, 16, device=DEVICE)
        return float(model.fit(x, y, batch_size=16, verbose=0).history["loss"][-1])

    study = optuna.create_study(sampler=optuna.samplers.GridSampler({"width": WIDTHS}))
    study.optimize(objective, n_trials=2)
    return {
        "states": {str(trial.params["width"]): trial.state.name for trial in study.trials},
        "peaks": {str(trial.params["width"]): trial.user_attrs["plimsoll_peak_bytes"] for trial in study.trials},
    }


def small() -> Any:
    return keras.Sequential([keras.Input((256,)), keras.layers.Dense(1024), keras.layers.Dense(1)])


@fitting(small, batch=4096, device="cpu:16MiB", jit="off")
def train(plan: Any, epochs: int) -> dict[str, Any]:
    with plan.scope():
        model = small()
        model.compile(plan.optimizer("adam"), "mse", **plan.compile_options())
    history = plan.fit(model, np.repeat(x, 64, 0), np.repeat(y, 64, 0), epochs=epochs, verbose=0)
    return {"at_a_time": plan.per_gpu_batch, "batch": plan.global_batch, "losses": history.history["loss"]}


@fitting(small, device="cpu:16MiB", jit="off")
def largest(plan: Any) -> dict[str, Any]:
    return {"at_a_time": plan.per_gpu_batch, "batch": plan.global_batch}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    answer = {
        "fitting": train(2),
        "largest": largest(),
        "keras_tuner": keras_tuner_search(),
        "optuna": optuna_search(),
    }
    (folder / "answer.json").write_text(json.dumps(answer))
