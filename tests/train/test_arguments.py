"""`plan.fit`, `evaluate` and `predict` take what Keras' take, and it means the same."""

import inspect
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
    "PyDataset that changes",
    "PyDataset, shuffled",
    "endless generators",
    "two outputs",
    "two outputs, validated in small batches",
    "dict inputs",
    "dict samples",
    "samples for a subclass",
    "batches for a subclass",
    "own step that groups metrics",
    "own step with logs of its own",
    "own step and no call",
    "stopped as an epoch begins",
    "loss that reduces by itself",
    "evaluate",
    "predict",
]
CLOSE = 1e-6


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


def test_that_a_run_goes_on_within_an_epoch_by_the_backup_of_keras(found):
    whole, ended = found["resumed"]
    assert whole == ended
    assert whole[0] == 3 * 3


def test_that_a_metric_which_another_model_has_used_starts_anew(found):
    first, second = found["used metric"]
    assert second == pytest.approx(first)


def test_that_the_signatures_are_those_of_the_installed_keras(found):
    for name, theirs in found["signatures"].items():
        parameters = inspect.signature(getattr(TrainingPlan, name)).parameters
        ours = {each.name: repr(each.default) for each in parameters.values() if each.name != "model"}
        theirs.pop("kwargs", None)
        assert list(ours) == list(theirs), name
        assert ours == theirs, name
