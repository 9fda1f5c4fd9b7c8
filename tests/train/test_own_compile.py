"""One model with its own schedule, losses and weights: estimate, plan and generated script train the same."""

import json
import os
import subprocess
import sys

import pytest

from planner_app.cli import main
from planner_app.core.plan.script import script_of
from planner_app.files.plans import read_plan

MODEL = """
import keras
from keras import layers


def build():
    left, right = keras.Input((6,), name="left"), keras.Input((4,), name="right")
    x = layers.Dense(16, activation="relu", name="shared")(layers.concatenate([left, right]))
    kind, price = layers.Dense(5, name="kind")(x), layers.Dense(1, name="price")(x)
    model = keras.Model({"right": right, "left": left}, {"price": price, "kind": kind})
    model.compile(
        optimizer=keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9), momentum=0.9),
        loss={"kind": keras.losses.SparseCategoricalCrossentropy(from_logits=True), "price": keras.losses.Huber(2.0)},
        loss_weights={"kind": 3.0, "price": 0.5},
        metrics={"price": ["mae"]},
    )
    return model
"""
TELL = """
import json
from keras import optimizers
kinds = {name: [type(loss).__name__, loss._fn_kwargs] for name, loss in model.loss.items()}
print("TOLD", json.dumps({
    "optimizer": optimizers.serialize(model.optimizer), "losses": kinds,
    "weights": model._compile_config.config["loss_weights"], "history": sorted(history.history),
    "trained": sorted(w.path for w in model.trainable_variables), "updates": int(model.optimizer.iterations),
}))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory):
    """A plan with low-rank adapters, and what its script trained with."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own.py").write_text(MODEL)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        given = "--batch 8 --device cpu --lora 2 -o own.plan.json"
        assert main(["plan", "own.py:build", *given.split()]) == 0
        plan = read_plan("own.plan.json")
    script = script_of(plan, "own.plan.json")
    (folder / "train.py").write_text(script + TELL)
    quiet = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "KERAS_"))}
    child = subprocess.run(
        [sys.executable, "-W", "error::planner_app.train.PlanWarning", "train.py"],
        env=quiet | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert child.returncode == 0, child.stderr[-3000:]
    line = next(line for line in child.stdout.splitlines() if line.startswith("TOLD "))
    return plan, script, json.loads(line.removeprefix("TOLD ")), folder


def test_that_the_plan_leaves_optimizer_and_loss_to_the_model(told):
    plan, script, _, _ = told
    assert (plan.training.optimizer.name, plan.training.loss, plan.training.lora) == ("own", "", "2")
    assert "plan.fine_tune(model)" in script
    assert "plan.keep_compiled(model)" in script


def test_that_the_script_trains_with_the_authors_schedule_losses_and_weights(told):
    _, _, found, _ = told
    assert found["optimizer"]["class_name"] == "SGD"
    assert found["optimizer"]["config"]["learning_rate"]["class_name"] == "ExponentialDecay"
    assert found["losses"]["price"][0] == "Huber"
    assert found["losses"]["price"][1]["delta"] == 2.0
    assert found["losses"]["kind"][1]["from_logits"] is True
    assert found["weights"] == {"kind": 3.0, "price": 0.5}
    assert "price_mae" in found["history"]
    assert found["updates"] == 12  # three epochs of four batches


def test_that_the_script_trains_the_adapters_that_the_plan_counts(told):
    """Two matrices of rank 2 for each of three layers, and their biases."""
    plan, _, found, _ = told
    adapters = (10 * 2 + 2 * 16) + (16 * 2 + 2 * 5) + (16 * 2 + 2 * 1)
    assert plan.model.parameters == adapters + 16 + 5 + 1
    assert len([path for path in found["trained"] if "lora" in path]) == 6
    assert not [path for path in found["trained"] if path.endswith("/kernel")]


def test_that_an_estimate_names_the_same_optimizer_and_losses(told, capsys):
    assert main(["estimate", f"{told[3] / 'own.py'}:build", *"--batch 8 --device cpu --lora 2 --json".split()]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["trained"]["optimizer"] == "SGD (learning_rate ExponentialDecay, momentum 0.9)"
    assert said["trained"]["loss"] == "kind: SparseCategoricalCrossentropy, price: Huber"
    assert said["assumed"] == []
    assert said["peak_bytes"] == told[0].devices[0].rungs[0].peak.expected_bytes
