"""The list of what a configuration may name is that of the installed Keras, and holds nothing that runs code."""

import json
import subprocess
import sys

from scripts import QUIET, ROOT

from planner_app.core.model.choices import LOSSES, OPTIMIZERS
from planner_app.worker.inspect.allowed.names import RUNS_CODE, keras_names


def test_that_the_list_is_that_of_the_installed_keras():
    code = "import json, list_keras_names; print(json.dumps(list_keras_names.collect()))"
    environment = {**QUIET, "PYTHONPATH": str(ROOT / "packaging")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, timeout=120, check=True)
    kept = json.loads((ROOT / "planner_app" / "data" / "keras_names.json").read_text())
    assert json.loads(done.stdout) == kept, "run packaging/list_keras_names.py again"


def test_that_nothing_that_runs_code_is_on_the_list():
    names = keras_names()
    assert not RUNS_CODE.keys() & {full.rpartition(".")[2] for full in names.classes}
    assert not RUNS_CODE.keys() & names.bare_classes


def test_that_only_activations_losses_and_metrics_are_functions_on_the_list():
    assert {"relu", "gelu", "mean_squared_error", "huber"} <= keras_names().functions
    assert not {"get", "deserialize", "get_file", "set_floatx", "load_model"} & keras_names().functions


def test_that_the_optimizers_to_choose_from_are_all_that_keras_has():
    there = {full.rpartition(".")[2].lower() for full in keras_names().classes if "src.optimizers." in full}
    assert set(OPTIMIZERS) == there - {"optimizer", "lossscaleoptimizer", "multioptimizer"}
    assert len(set(OPTIMIZERS)) == len(OPTIMIZERS)


def test_that_the_losses_to_choose_from_are_losses_of_keras():
    assert set(LOSSES) <= keras_names().functions
