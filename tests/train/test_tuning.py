"""Knowing instead of failing: searches that skip what can't fit, and training that takes what fits here."""

import json
import subprocess
import sys
from typing import Any

import pytest
from children import HERE, QUIET, SECONDS, clean


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The real libraries, in one process."""
    folder = tmp_path_factory.mktemp("tuning")
    command = [sys.executable, str(HERE / "tuning.py"), str(folder)]
    run = subprocess.run(command, env=clean() | QUIET, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads((folder / "answer.json").read_text())


def test_that_keras_tuner_skips_a_trial_that_does_not_fit(found):
    answer = found["keras_tuner"]
    assert answer["statuses"] == {"32": "COMPLETED", "4096": "FAILED"}
    assert "more than cpu:16MiB has. Skip model." in answer["messages"][0]
    assert answer["best"] == 32


def test_that_optuna_prunes_a_trial_that_does_not_fit(found):
    assert found["optuna"]["states"] == {"32": "COMPLETE", "4096": "PRUNED"}
    assert found["optuna"]["peaks"]["4096"] > 16 << 20 > found["optuna"]["peaks"]["32"]


def test_that_training_without_a_plan_file_takes_what_fits(found):
    answer = found["fitting"]
    assert answer["batch"] == 4096
    assert 0 < answer["at_a_time"] < 4096
    assert len(answer["losses"]) == 2


def test_that_without_a_batch_the_largest_that_fits_is_taken(found):
    answer = found["largest"]
    assert answer["batch"] == answer["at_a_time"]
    assert answer["batch"] & (answer["batch"] - 1) == 0
    assert found["fitting"]["at_a_time"] <= 2 * answer["batch"]
