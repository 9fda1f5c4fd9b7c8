"""The Python API: `from planner_app import open_model`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import planner_app
from planner_app import Verdict, open_model
from planner_app.data import FOLDER
from planner_app.errors import ModelError, PlannerError, SetupError
from planner_app.files.plans import read_plan
from planner_app.jobs.protocol import Progress
from planner_app.planner.api.handle import Model

pytestmark = pytest.mark.usefixtures("same_workers")

DEMO = str(FOLDER / "demo.keras")


@pytest.fixture(scope="module")
def model() -> Model:
    return open_model(DEMO, progress=False)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> dict:
    script = Path(__file__).with_name("live_models.py")
    command = [sys.executable, script, tmp_path_factory.mktemp("live")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_that_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, planner_app; from planner_app import open_model; "
        "print(sorted({'tensorflow', 'jax', 'keras', 'PySide6', 'h5py', 'pandas', 'IPython'} & set(sys.modules)))"
    )
    plain = "import sys, planner_app; print(sorted({'numpy', 'msgspec', 'rich'} & set(sys.modules)))"
    heavy = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not any(name in heavy for name in ("tensorflow", "jax", "PySide6", "pandas"))
    assert subprocess.run([sys.executable, "-c", plain], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_that_the_package_says_what_it_exports():
    assert set(dir(planner_app)) == {"Model", "PlannerError", "Verdict", "__version__", "open_model"}
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = planner_app.nothing


def test_that_an_estimate_is_a_frozen_value_with_a_verdict(model):
    found = model.estimate(batch=64, device="NVIDIA L4")
    assert found.verdict is Verdict.FITS and found.fits
    assert sum(found.breakdown.values()) == found.peak_bytes
    with pytest.raises(AttributeError):
        found.peak_bytes = 0
    assert found.to_dict()["peak_bytes"] == found.peak_bytes
    assert {row["name"] for row in found.rows()} >= {"stem", "head"} or len(found.rows()) > 5


def test_that_a_limit_makes_it_tight_or_too_much(model):
    peak = model.estimate(batch=64).peak_bytes
    assert model.estimate(batch=64, limit=f"{peak + 1}B").verdict is Verdict.TIGHT
    assert model.estimate(batch=64, limit=f"{peak - 1}B").verdict is Verdict.DOES_NOT_FIT


def test_that_a_sweep_is_a_table_and_a_chart(model):
    sweep = model.sweep(batches=[1, 8, 64], precisions=["float32", "mixed_float16"], devices="NVIDIA L4")
    assert [(row["precision"], row["batch"]) for row in sweep.rows()] == [
        (precision, batch) for precision in ("float32", "mixed_float16") for batch in (1, 8, 64)
    ]
    page = sweep._repr_html_()
    assert page.count("<polyline") == 2 and "NVIDIA L4: 20.4 GiB" in page
    with pytest.raises(SetupError, match=r"sweep\(\) takes precisions="):
        model.sweep(precision="float32")


def test_that_a_plan_is_saved_and_read_again(model, tmp_path):
    plan = model.plan(batch=96, device="NVIDIA L4")
    assert read_plan(plan.save(tmp_path / "demo.plan.json")) == plan.plain
    assert plan.rows()[0]["per_gpu_batch"] == 96


def test_that_every_answer_shows_itself_in_a_notebook(model):
    answers = [
        model.estimate(batch=64, device="NVIDIA L4"),
        model.max_batch(device="NVIDIA L4"),
        model.plan(batch=96, device="NVIDIA L4"),
        model.shop(64, devices="NVIDIA L4"),
        model.advise(64, device="NVIDIA L4"),
    ]
    for answer in answers:
        page = answer._repr_html_()
        assert page.startswith('<div class="plimsoll">') and "prefers-color-scheme:dark" in page


def test_that_progress_goes_where_the_caller_wants_it():
    told: list[Progress] = []
    open_model(DEMO, progress=told.append)
    assert told and all(isinstance(event, Progress) for event in told)


def test_that_what_is_not_a_model_gets_a_sentence():
    with pytest.raises(ModelError, match="A list can't be opened: give the path of a saved model"):
        open_model([1, 2])
    with pytest.raises(PlannerError):
        open_model("nowhere.keras", progress=False)
    with pytest.raises(SetupError, match=r"precision must be one of .*, got 'half'"):
        open_model(DEMO, progress=False).estimate(8, precision="half")


def test_that_a_live_model_equals_its_saved_file_to_the_byte(live):
    assert set(live["compared"]) == {"SGD with momentum", "Adam amsgrad", "AdamW with EMA", "LAMB"}
    for from_live, from_file in live["compared"].values():
        assert from_live == from_file


def test_that_a_live_model_with_a_class_of_its_own_stays_as_it_is(live):
    assert live["own"]["same"]
    assert "Scaled" in live["own"]["layers"]
    assert live["own"]["assumed"] == []


def test_that_frozen_and_adapted_layers_of_a_live_model_stay_so(live):
    """Adam keeps two numbers beside each one that is trained: of the adapter and a bias, not of 2 x 200 x 200."""
    (whole, all_numbers), (tuned, trained) = live["tuned"]["as made"], live["tuned"]["tuned"]
    assert (all_numbers, trained) == (2 * (200 * 200 + 200), 2 * 200 * 2 + 200)
    added = 2 * 200 * 2
    assert whole - tuned == pytest.approx(4 * (2 * (all_numbers - trained) - added), abs=100)


def test_that_a_loss_which_a_function_made_comes_along(live):
    loss, assumed = live["tuned"]["trained"]
    assert loss == "loss"
    assert not [each for each in assumed if each.startswith("loss")]
