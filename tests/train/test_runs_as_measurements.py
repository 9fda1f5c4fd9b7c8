"""A training run that has finished is a measurement: it can be opened, compared by term, and calibrates."""

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from children import QUIET, SECONDS, clean

from planner_app.cli import main
from planner_app.core.measure.measurement import Measurement, Place
from planner_app.errors import PlannerError
from planner_app.files.kept.calibrations import Calibrations
from planner_app.files.plans import read_plan, write_plan
from planner_app.planner.api.handle import open_model
from planner_app.planner.measuring.compare import calibrate_with, compare_with_estimate
from planner_app.planner.measuring.training_runs import read_run
from planner_app.planner.opening import check_model

DEMO = Path(__file__).parents[2] / "planner_app" / "data" / "demo.keras"
BATCH, SAMPLES = 64, 3 * 64
SCRIPT = """
import sys
from planner_app.train import load_plan

plan = load_plan()
with plan.scope():
    model = plan.load_model(sys.argv[1])
    model.compile(plan.optimizer("adam"), loss="mse", **plan.compile_options())
plan.fit(model, plan.synthetic_data(model, int(sys.argv[2])), epochs=2, verbose=0, callbacks=[plan.watch()])
"""


@dataclass(frozen=True, slots=True)
class Trained:
    folder: Path
    said: str

    @property
    def measurement(self) -> Measurement:
        return read_run(self.folder / "demo.plan.run")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """The demo model under `plimsoll run`, in two accumulation steps."""
    folder = tmp_path_factory.mktemp("run")
    options = {"accumulate": 2, "jit": "off", "optimizer": "adam", "loss": "mse"}
    write_plan(folder / "demo.plan.json", open_model(DEMO, progress=False).plan(BATCH, device="cpu:4GiB", **options))
    (folder / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "planner_app", "run", "--plan", "demo.plan.json", "train.py", str(DEMO)]
    run = subprocess.run(
        [*command, str(SAMPLES)],
        cwd=folder,
        env=clean() | QUIET,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return Trained(folder, run.stdout)


def test_that_a_plan_says_what_its_peaks_are_made_of(trained):
    for rung in read_plan(trained.folder / "demo.plan.json").devices[0].rungs:
        assert {"weights", "optimizer state"} <= set(rung.peak.terms)
        assert sum(rung.peak.terms.values()) == rung.peak.expected_bytes


def test_that_the_watch_compares_by_term_at_the_end(trained):
    (line,) = [line for line in trained.said.splitlines() if line.startswith("memory by term: ")]
    terms = dict(part.split(" ", 1) for part in line.removeprefix("memory by term: ").split("; "))
    took, planned = terms["weights"].removesuffix(")").split(" (planned ")
    assert took == planned  # known exactly, on both sides
    assert "optimizer state" in line and "kept between steps" in line
    assert "during a step" in line and "activations" in line


def test_that_a_finished_run_opens_as_a_measurement(trained):
    found = trained.measurement
    assert (found.setup.batch, found.setup.per_gpu_batch, found.setup.accumulate) == (BATCH, BATCH // 2, 2)
    assert found.model == DEMO.name
    assert found.peak_bytes > 0
    assert read_run(trained.folder / "demo.plan.run" / "run.json") == found
    assert read_run(trained.folder / "demo.plan.run" / "measurement.json") == found


def test_that_it_is_held_against_the_estimate(trained):
    comparison = compare_with_estimate(check_model(DEMO), trained.measurement)
    assert 0.5 < comparison.estimated_bytes / max(comparison.measured_bytes) < 2


def test_that_the_command_takes_the_folder_of_a_run(trained, capsys):
    """Kernels on the CPU's thread pool say nothing about GPUs: they are compared, and calibrate nothing."""
    assert main(["calibrate", str(DEMO), str(trained.folder / "demo.plan.run"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (len(found["comparisons"]), found["calibrations"]) == (1, [])


def test_that_a_run_on_a_gpu_calibrates(trained):
    on_gpu = replace(trained.measurement, place=Place((0,)), hardware="NVIDIA L4")
    store = Calibrations()
    found = calibrate_with(store, on_gpu, compare_with_estimate(check_model(DEMO), on_gpu))
    assert (found.device, [sample.model for sample in found.samples]) == ("NVIDIA L4", [DEMO.name])
    assert store.forget(None) == 1


def test_that_a_run_without_a_measurement_says_why(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"command": ["train.py"], "tries": []}))
    for path in (tmp_path, tmp_path / "run.json"):
        with pytest.raises(PlannerError, match="has left no measurement, because no training in it"):
            read_run(path)
    (tmp_path / "run.json").unlink()
    with pytest.raises(PlannerError, match="is not a training run"):
        read_run(tmp_path)
