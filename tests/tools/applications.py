"""Models of keras.applications through files and back: one JSON line each, with the parameters before and after.

    python tests/tools/applications.py [--real] [NAME ...]

Without --real a file holds the configuration only, as the reader takes it out; with it, Keras saves the whole model.
Meant to run in a process of its own: it imports TensorFlow.
"""

import argparse
import inspect as python_inspect
import json
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import h5py

from planner_app.jobs.protocol import Describe, Inspect
from planner_app.worker.importing import quickly

with quickly():
    import keras
    from keras.src.backend.common import global_state
    from keras.src.legacy.saving import saving_utils
    from keras.src.saving import serialization_lib

from planner_app.worker.build.describe import describe
from planner_app.worker.build.valueless import without_values
from planner_app.worker.inspect import inspect

SUFFIXES = (".keras", ".h5")


def names() -> list[str]:
    return [name for name, value in vars(keras.applications).items() if python_inspect.isfunction(value)]


def save_configuration(model: keras.Model, path: Path) -> None:
    if path.suffix == ".keras":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("config.json", json.dumps(serialization_lib.serialize_keras_object(model)))
            archive.writestr("metadata.json", json.dumps({"keras_version": keras.__version__}))
        return
    global_state.set_global_attribute("use_legacy_config", True)
    try:
        metadata = saving_utils.model_metadata(model, include_optimizer=False)
    finally:
        global_state.set_global_attribute("use_legacy_config", False)
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(metadata["model_config"])
        file.attrs["keras_version"] = keras.__version__


def silent(*_: object) -> None:
    pass


def round_trip(name: str, folder: Path, *, real: bool) -> dict[str, object]:
    began = time.monotonic()
    keras.backend.clear_session()
    build = getattr(keras.applications, name)
    if real:
        model = build(weights=None)
    else:
        with without_values():
            model = build(weights=None)
    answer: dict[str, object] = {"name": name, "params": model.count_params()}
    for suffix in SUFFIXES:
        path = folder / f"{name}{suffix}"
        if real:
            model.save(path)
        else:
            save_configuration(model, path)
        checked = inspect(Inspect(path=str(path)), silent)
        description = describe(Describe(model=checked), silent)
        answer[suffix] = description.params
        answer[f"{suffix} warnings"] = [w for w in description.warnings if "don't match" in w]
        path.unlink()
    answer["seconds"] = round(time.monotonic() - began, 1)
    return answer


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--real", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        for chosen in options.names or names():
            sys.stdout.write(json.dumps(round_trip(chosen, Path(scratch), real=options.real)) + "\n")
            sys.stdout.flush()
