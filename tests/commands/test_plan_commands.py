"""`plimsoll plan`, `check` and `script` as a user runs them, up to training by the script that is printed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import planner_app
from planner_app.cli import main
from planner_app.errors import SetupError
from planner_app.files.kept.measurements import read_measurement
from planner_app.files.plans import read_plan
from planner_app.train import fits

DEMO = Path(planner_app.__file__).parent / "data" / "demo.keras"
FLOAT32 = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}
TINY = {
    "module": "keras",
    "class_name": "Sequential",
    "config": {
        "name": "tiny",
        "dtype": FLOAT32,
        "layers": [
            {
                "module": "keras.layers",
                "class_name": "InputLayer",
                "config": {"batch_shape": [None, 12], "dtype": "float32", "name": "features"},
            },
            *(
                {
                    "module": "keras.layers",
                    "class_name": "Dense",
                    "config": {"name": name, "units": units, "dtype": FLOAT32},
                }
                for name, units in (("hidden", 32), ("out", 3))
            ),
        ],
    },
}
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A user's folder with the model in it."""
    folder = tmp_path_factory.mktemp("user")
    shutil.copy(DEMO, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        written = capsys.readouterr()
        return code, written.out, written.err

    return run


@pytest.fixture
def one(run: Run) -> str:
    """A plan for the CPU with a limit, made once."""
    if not Path("demo.plan.json").exists():
        code, out, err = run("plan", "demo.keras", "--batch", "16", "--device", "cpu:2GiB")
        assert (code, err) == (0, "")
        assert "Wrote demo.plan.json" in out
    return "demo.plan.json"


@pytest.fixture
def two(run: Run) -> str:
    """Two devices, steps that are added up, mixed precision, and a model that is no more than its configuration."""
    if not Path("two.json").exists():
        Path("tiny.json").write_text(json.dumps(TINY))
        given = "--batch 16 --gpus 2 --accumulate 2 --precision mixed_bfloat16 --device cpu -o two.json"
        code, _, err = run("plan", "tiny.json", *given.split())
        assert (code, err) == (0, "")
    return "two.json"


def test_that_a_plan_says_what_it_is_made_for(one):
    plan = read_plan(one)
    assert (plan.model.file, plan.training.global_batch) == ("demo.keras", 16)
    assert plan.training.loss == "sparse_categorical_crossentropy"
    assert plan.model.parameters == 77946
    assert plan.devices[0].environment["TF_CPU_BFC_MEM_LIMIT_IN_MB"] == "2048"
    assert plan.input.sample_bytes == 32 * 32 * 3 * 4 + 4
    assert {"plimsoll", "tensorflow", "keras"} <= plan.versions.keys()


def test_that_json_is_the_plan_itself(run, one):
    code, out, _ = run("plan", "demo.keras", "--batch", "16", "--device", "cpu:2GiB", "-o", "again.json", "--json")
    assert code == 0
    assert out == Path("again.json").read_text()


def test_that_a_batch_that_does_not_fit_sets_the_exit_code(run, one):
    code, _, err = run("plan", "demo.keras", "--batch", "16", "--device", "cpu:1MiB", "-o", "never.json")
    assert code == 3
    assert "does not fit cpu" in err
    assert not Path("never.json").exists()


def test_that_check_is_a_gate(run, one):
    assert run("check", one)[0] == 0
    assert run("check", one, "--gpu", "cpu:1MiB")[0] == 3
    code, out, _ = run("check", one, "--gpu", "cpu:1MiB", "--json")
    answer = json.loads(out)
    assert (code, answer["fits"], answer["devices"][0]["lower_rung"]) == (3, False, None)
    assert run("check", one, "--rung", "99")[0] == 1


def test_that_check_says_which_lower_rung_would_fit(run, one):
    first, *others = read_plan(one).devices[0].rungs
    between = (first.peak.expected_bytes + others[0].peak.expected_bytes) // 2
    code, out, _ = run("check", one, "--gpu", f"cpu:{between}B")
    assert code == 3
    assert "rung 1 would fit" in out


def test_that_check_finds_a_model_that_has_changed(run, one):
    Path("other").mkdir()
    shutil.copy(one, "other")
    Path("other/demo.keras").write_bytes(DEMO.read_bytes() + b"more")
    for arguments in (("other/demo.plan.json",), (one, "--model", "other/demo.keras")):
        code, _, err = run("check", *arguments)
        assert code == 1
        assert "has changed since the plan was made" in err


def test_that_a_missing_gpu_is_reported(run, one):
    code, _, err = run("check", one, "--gpu", "97")
    assert code == 1
    assert "This machine has no usable GPU 97" in err


def test_that_a_tuner_learns_whether_a_trial_would_fit(folder, one):
    room = fits("demo.keras", 16, device="cpu:2GiB")
    assert room.fits
    assert room.headroom_bytes == (2 << 30) - room.peak_bytes
    assert room.peak_bytes == read_plan(one).devices[0].rungs[0].peak.expected_bytes
    short = fits("demo.keras", 16, device="cpu:1MiB")
    assert not short.fits
    assert short.headroom_bytes == (1 << 20) - room.peak_bytes
    assert fits("demo.keras", 16).headroom_bytes is None
    with pytest.raises(SetupError, match=r"precision must be one of .* got 'half'"):
        fits("demo.keras", 16, precision="half")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("plan", "demo.keras", "--batch", "16", "--gpus", "3", "--hosts", "a:1,b:1"), "can't be divided evenly"),
        (("plan", "demo.keras", "--batch", "16", "--gpus", "2", "--hosts", "a,b"), "is not an address"),
        (("plan", "demo.keras", "--batch", "16", "--growth", "--limit", "8GiB"), "either a limit or growth"),
        (("plan", "demo.keras", "--batch", "16", "-o", "nowhere/plan.json"), "there is no folder 'nowhere'"),
        (("check", "nowhere.json"), "can't be read"),
        (("check", "demo.keras"), "is not a plan that can be used"),
        (("script", "demo.keras"), "is not a plan that can be used"),
    ],
)
def test_that_wrong_use_is_a_sentence(run, arguments, expected):
    code, _, err = run(*arguments)
    assert code == 1
    assert expected in err
    assert "bug" not in err


@pytest.mark.parametrize("devices", [1, 2])
def test_that_the_printed_script_runs_unchanged(run, request, devices):
    plan = request.getfixturevalue("one" if devices == 1 else "two")
    code, text, _ = run("script", plan)
    assert code == 0
    Path("train.py").write_text(text)
    quiet = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "KERAS_"))}
    child = subprocess.run(
        [sys.executable, "-W", "error::planner_app.train.PlanWarning", "train.py"],
        env=quiet | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert child.returncode == 0, child.stderr[-3000:]
    assert "Epoch 3/3" in child.stdout
    stem = plan.removesuffix(".json").removesuffix(".plan")
    report = read_measurement(Path(f"{stem}.run.json"))
    assert len(report.runs[0].steps) == 12  # three epochs of four batches
    assert report.setup.gpus == devices
    assert Path(f"{stem}.trained.keras").exists()
    expected = read_plan(plan).devices[0].rungs[0].peak
    assert expected.low_bytes / 2 < report.peak_bytes / devices < expected.high_bytes * 1.25
