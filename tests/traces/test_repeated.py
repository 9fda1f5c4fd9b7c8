"""Updates that are repeated make the same graph as updates that Keras is asked for, node by node, name by name."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
VARIABLES = 12  # four kernels of the same rank or less, biases, gamma and beta
OPTIMIZERS = {
    "adam": True,
    "adamw": True,
    "sgd:momentum=0.9,nesterov=true": True,
    "rmsprop:centered=true,momentum=0.9": True,
    "nadam": True,
    "ftrl": True,
    "lion": True,
    "lamb": True,
    "adafactor": True,
    "adam:amsgrad=true,use_ema=true,global_clipnorm=1.0": True,
    "adam:loss_scaling=true": True,
    "adam every 2": True,
    "muon": False,  # decides by the variable's name: never repeated
}


@pytest.fixture(scope="module")
def told() -> dict:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, str(HERE / "traced_twice.py"), *OPTIMIZERS]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_that_the_graph_is_the_same(told, optimizer):
    assert told[optimizer]["same"], told[optimizer]["differs"]


@pytest.mark.parametrize(("optimizer", "repeats"), OPTIMIZERS.items())
def test_that_updates_are_repeated_where_they_may_be(told, optimizer, repeats):
    assert (told[optimizer]["repeated"] >= VARIABLES // 3) == repeats
