"""Real training by plans: gradients that are added up, memory that runs out, several devices and hosts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from children import finish, run, start
from planning import cpu_entry, plan
from training_scripts import FEATURES, TARGETS, WIDTH

from planner_app.core.plan.plan import DeviceKind, PlannedDevice
from planner_app.files.kept.measurements import read_measurement
from planner_app.files.plans import write_plan

BATCH = 30
SAMPLES = 3 * BATCH + 11  # the last batch of an epoch is smaller, and odd
SIZES = [FEATURES * WIDTH, WIDTH, WIDTH * WIDTH, WIDTH, WIDTH * TARGETS, TARGETS]
OPTIONS = {"learning_rate": 0.1, "momentum": 0.9}
CLOSE = 2e-6  # weights are about 1: sixteen roundings of float32


def written(
    folder: Path, name: str, *steps: Any, gpus: int = 1, batch: int = BATCH, jit: bool = False, **more: Any
) -> str:
    path = folder / f"{name}.plan.json"
    entry = cpu_entry(batch, gpus, *steps)
    entry = replace(entry, rungs=tuple(replace(rung, jit=jit) for rung in entry.rungs))
    write_plan(path, plan(batch, entry, sizes=SIZES, **more))
    return str(path)


@pytest.fixture(scope="module")
def on_one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is asked on one device, by script."""
    folder = tmp_path_factory.mktemp("one")
    names = {"keras": 1, "plain": 1, "even": 5, "uneven": 4, "one by one": 30}
    plans = {name: written(folder, name, steps, optimizer="sgd") for name, steps in names.items()}
    report = folder / "run.json"
    pieces = {"path": written(folder, "pieces", 2, (2, "mixed_bfloat16"), batch=20), "gpu": for_gpu(folder)}
    scripts = {
        "train": ("train", {"plans": plans, "samples": SAMPLES, "epochs": 2, "options": OPTIONS}),
        "pieces": ("pieces", pieces | {"report": str(report)}),
        "rungs": ("rungs", {"path": written(folder, "rungs", 1, 2, 4, 8, 16, 32, batch=32)}),
        "limits": ("limits", {"path": written(folder, "limits", 2, batch=16)}),
        "adversarial": ("adversarial", {"path": written(folder, "adversarial", 1, 2, batch=16)}),
        "callbacks": ("callbacks", {}),
        "table": ("table", {"path": str(folder / "memory.csv")}),
    }
    found = run("several", {"CUDA_VISIBLE_DEVICES": "-1"}, scripts=scripts)
    return found | {"pieces": found["pieces"] | {"report": read_measurement(report)}}


@pytest.fixture(scope="module")
def one_device(on_one: dict[str, Any]) -> dict[str, Any]:
    return on_one["train"]


@pytest.fixture(scope="module")
def pieces(on_one: dict[str, Any]) -> dict[str, Any]:
    return on_one["pieces"]


@pytest.fixture(scope="module")
def two_devices(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("two")
    names = {"plain": 1, "even": 5, "uneven": 4}
    plans = {name: written(folder, name, steps, gpus=2, optimizer="sgd") for name, steps in names.items()}
    return run("train", plans=plans, samples=SAMPLES, epochs=2, options=OPTIONS)


def difference(left: dict[str, Any], right: dict[str, Any]) -> float:
    pairs = zip(left["weights"], right["weights"], strict=True)
    return max(float(np.abs(np.array(a) - np.array(b)).max()) for a, b in pairs)


@pytest.mark.parametrize("name", ["plain", "even", "uneven", "one by one"])
def test_that_adding_up_gradients_gives_the_weights_of_the_large_batch(one_device, name):
    assert difference(one_device["keras"], one_device[name]) < CLOSE
    assert one_device[name]["updates"] == one_device["keras"]["updates"] == 8
    assert one_device[name]["history"]["loss"] == pytest.approx(one_device["keras"]["history"]["loss"], rel=1e-5)


@pytest.mark.parametrize("name", ["plain", "even", "uneven"])
def test_that_two_devices_give_the_weights_of_one(one_device, two_devices, name):
    assert difference(one_device["keras"], two_devices[name]) < CLOSE
    assert two_devices[name]["updates"] == 8
    for log in ("loss", "mae", "val_loss", "val_mae"):
        assert two_devices[name]["history"][log] == pytest.approx(one_device["plain"]["history"][log], rel=1e-5)


def test_that_training_moves_the_weights(one_device):
    loss = one_device["even"]["history"]["loss"]
    assert loss[-1] < loss[0]


# Four layers keep 4 x 8192 x 256 floats, 32 MiB, on two devices 16 each; with 256 at a time it is 1 MiB. Weights,
# gradients, sums and AdamW's slots are 1 MiB each. Twenty is less than the first rung of either takes on one device.
RUNS_OUT = {"samples": 3 * 8192 + 100, "features": 32, "width": 256, "layers": 4}
LIMITED = {"TF_CPU_BFC_MEM_LIMIT_IN_MB": "20"}


CASES = {"room": (1, False), "one": (1, False), "two": (2, False), "compiled": (1, True)}


@pytest.fixture(scope="module")
def ran_out(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, Any], Any]]:
    """By case the answer, and weights and slots. All at once: an allocator waits ten seconds before it gives up."""
    folder = tmp_path_factory.mktemp("limited")
    children = {}
    for name, (gpus, jit) in CASES.items():
        path = written(folder, name, 1, 32, 64, gpus=gpus, batch=8192, optimizer="adamw", jit=jit)
        limit = {} if name == "room" else LIMITED
        children[name] = start("run_out", limit, path=path, save=str(folder / f"{name}.npz"), size=RUNS_OUT)
    answers = {name: finish(child) for name, child in children.items()}
    return {name: (answer, np.load(folder / f"{name}.npz")) for name, answer in answers.items()}


@pytest.mark.parametrize("case", ["one", "two", "compiled"])
def test_that_memory_that_runs_out_ends_on_a_lower_rung_with_no_step_lost(ran_out, case):
    """A real ResourceExhaustedError: the limit is the allocator's own."""
    devices = CASES[case][0]
    expected, state = ran_out["room"]
    found, reached = ran_out[case]
    assert (expected["rung"], expected["said"]) == (0, [])
    assert (found["rung"], found["per_gpu_batch"]) == (1, 256 // devices)
    assert found["global_batch"] == 8192
    assert found["batches"] == expected["batches"] == [0, 1, 2, 3]
    assert found["updates"] == expected["updates"] == 4
    said = next(each for each in found["said"] if "Memory ran out" in each)
    assert f"Memory ran out with {8192 // devices} samples at a time" in said
    assert "no step is lost" in said
    assert any("Start the script with `plimsoll run`" in each for each in found["said"]) == (case == "compiled")
    assert found["history"]["loss"] == pytest.approx(expected["history"]["loss"], rel=1e-5)
    for name in state.files:
        assert np.abs(reached[name].astype("float64") - state[name]).max() < CLOSE, name


def for_gpu(folder: Path) -> str:
    device = PlannedDevice("NVIDIA L4", DeviceKind.GPU, 24 << 30, (8, 9), 22 << 30)
    entry = replace(cpu_entry(20, 1, 1), device=device, environment={})
    write_plan(folder / "gpu.json", plan(20, entry))
    return str(folder / "gpu.json")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("another model", "This is not the model of the plan: tiny.keras trains"),
        ("no GPU", "The plan is for NVIDIA L4, and this machine shows no GPU: look at nvidia-smi"),
        ("no GPU to train on", "The plan needs 1 GPU on this machine, and TensorFlow sees none"),
        ("another optimizer", "The plan was made for adam, and this is sgd"),
        ("no optimizer", "has no optimizer 'adamant': expected one of adadelta"),
        ("own accumulation", "gradient_accumulation_steps is the plan's to choose"),
        ("batched twice", "The dataset is batched twice: input 0 comes as (?, ?, 16)"),
        ("nothing", "The data hold no batch"),
        ("too large", "A batch of 50 came: expected up to 20, the global batch."),
        ("not compiled", "The model is not compiled"),
        ("endless", "The data never end, so an epoch would not either: give steps_per_epoch"),
        ("filtered", "The data come out of a repeat() without end, so an epoch may not end either"),
        ("generator", "An epoch ends when the generator does: one that never ends needs steps_per_epoch."),
    ],
)
def test_that_what_does_not_fit_the_plan_is_said(pieces, name, sentence):
    assert sentence in pieces[name]


def test_that_the_planned_model_passes_the_check(pieces):
    assert pieces["check"] == ""


def test_that_each_piece_works_alone(pieces):
    assert pieces["shapes"] == [[20, FEATURES], [20, FEATURES], [10, FEATURES]]
    assert pieces["losses"][-1] < pieces["losses"][0]
    assert pieces["finite"]


def test_that_a_model_in_training_goes_on_in_lower_precision(pieces):
    lower = pieces["lower"]
    assert (lower["precision"], lower["type"]) == ("mixed_bfloat16", "bfloat16")
    assert lower["losses"][-1] < lower["losses"][0] < pieces["losses"][-1]  # means since the start: it goes on falling


def test_that_a_change_of_rung_is_not_taken_for_retracing(on_one):
    """TensorFlow warns of functions that are traced again and again, which all rungs together are not."""
    found = on_one["rungs"]
    assert found["rung"] == 5
    assert found["losses"] == sorted(found["losses"], reverse=True)
    assert [each for each in found["said"] if "retracing" in each] == []


def test_that_what_accumulation_cannot_do_is_said_before_training(on_one):
    found = on_one["limits"]
    (said,) = found["batch normalisation"]
    assert "Batch normalisation (bn) takes its statistics over the 8 samples it sees at once" in said
    (said,) = found["across samples"]
    assert "The loss 'dice' compares samples with one another" in said
    assert "optimizers of its own (other)" in found["two optimizers"][0]
    assert "memory is stateful" in found["stateful"][0]
    assert "samples of one have the shape (3, 1), of another (6, 1)" in found["lengths"][0]
    assert found["frozen"] == found["layer normalisation"] == found["dropout"] == []


def test_that_a_model_with_optimizers_of_its_own_trains_as_by_keras(on_one):
    found, keras = on_one["adversarial"]["plan"], on_one["adversarial"]["keras"]
    assert found == keras
    assert found["updates"] == 6
    assert found["kept"]


def test_that_a_checkpoint_keeps_what_callbacks_count(on_one):
    assert on_one["callbacks"] == {
        "early stopping": [2, 0.5, 0.25],
        "best weights": [["float32", [[0, 1, 2], [3, 4, 5]]], ["int64", 4]],
        "losses": [3.0, 2.5],
    }


def test_that_the_table_of_a_run_that_goes_on_has_each_update_once(on_one):
    assert on_one["table"] == ["update", "1", "2", "3", "4"]


def test_that_data_of_every_kind_come_in_global_batches(pieces):
    """Steps are the data's own batches, as in Keras: four of 7 samples are 28, an update of 20 and one of 8."""
    assert pieces["updates"] == {"samples": 6, "small batches": 6, "large batches": 6, "arrays": 6, "pieces": 4}


def test_that_evaluation_says_what_keras_says(pieces):
    assert pieces["evaluated"] == pytest.approx(pieces["keras"], rel=1e-5)
    assert pieces["listed"] == pytest.approx(list(pieces["evaluated"].values()))


def test_that_prediction_says_what_keras_says(pieces):
    shape, far = pieces["predicted"]
    assert shape == [50, TARGETS]
    assert far < 1e-5


def test_that_the_run_report_is_a_measurement(pieces):
    report = pieces["report"]
    assert (report.setup.batch, report.setup.per_gpu_batch, report.setup.accumulate) == (20, 10, 2)
    assert report.peak_bytes > 0
    assert len(report.runs[0].steps) == 4
    assert report.model == "tiny.keras"
