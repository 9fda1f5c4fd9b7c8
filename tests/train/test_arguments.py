"""`plan.fit`, `evaluate` and `predict` take what Keras' take, and it means the same."""

import inspect
import subprocess
import sys
from typing import Any

import pytest
from children import run
from test_training import written

from planner_app.train import TrainingPlan

CASES = [
    "65 samples on two devices",
    "batch_size",
    "class_weight",
    "validation_split",
    "validation_freq",
    "generator",
    "PyDataset",
    "dict inputs",
    "dict samples",
    "samples for a subclass",
    "batches for a subclass",
    "evaluate",
    "predict",
]
CLOSE = 1e-6
SIGNATURES = """
import inspect, json, keras
names = ("fit", "evaluate", "predict")
print(json.dumps({name: {each.name: repr(each.default) for each in
    inspect.signature(getattr(keras.Model, name)).parameters.values()} for name in names}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two devices, two steps for each update, so every argument meets everything else."""
    return run("arguments", path=written(tmp_path_factory.mktemp("arguments"), "two", 2, gpus=2, batch=32))


@pytest.mark.parametrize("case", CASES)
def test_that_an_argument_means_what_it_means_in_keras(found, case):
    ours, theirs = found[case]["plan"], found[case]["keras"]
    assert set(ours) == set(theirs)
    for name in theirs:
        assert ours[name] == pytest.approx(theirs[name], abs=CLOSE, rel=CLOSE), name


def test_that_another_batch_size_is_overruled_with_a_sentence(found):
    assert any(
        "batch_size=7 is overruled: the plan trains with 32 samples" in each for each in found["batch_size"]["said"]
    )
    assert not found["65 samples on two devices"]["said"]


def test_that_steps_are_the_batches_of_the_data(found):
    """Three batches of 20 are 60 samples: an update with 32 and one with 28."""
    assert found["steps"] == {"updates": 2, "seen": [0, 1]}


def test_that_what_accumulation_cannot_do_is_said_before_training(tmp_path):
    found = run("limits", path=written(tmp_path, "limits", 2, batch=16))
    (said,) = found["batch normalisation"]
    assert "Batch normalisation (bn) takes its statistics over the 8 samples it sees at once" in said
    (said,) = found["across samples"]
    assert "The loss 'dice' compares samples with one another" in said
    assert found["frozen"] == found["layer normalisation"] == found["dropout"] == []


def test_that_the_signatures_are_those_of_the_installed_keras():
    import json

    asked = subprocess.run([sys.executable, "-c", SIGNATURES], capture_output=True, text=True, check=True, timeout=120)
    for name, theirs in json.loads(asked.stdout.splitlines()[-1]).items():
        parameters = inspect.signature(getattr(TrainingPlan, name)).parameters
        ours = {each.name: repr(each.default) for each in parameters.values() if each.name != "model"}
        theirs.pop("kwargs", None)
        assert list(ours) == list(theirs), name
        assert ours == theirs, name
