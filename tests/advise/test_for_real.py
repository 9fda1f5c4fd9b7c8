"""One small model for real: it runs out of memory, the doctor reads the log, the advice is applied and trained.

`python tests/benchmarks/advice.py` does the same with four larger ones.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from planner_app.cli import main
from planner_app.core.hardware.device import cpu_device
from planner_app.core.measure.measurement import Place
from planner_app.core.model.setup import Setup
from planner_app.planner.advise import advice_request
from planner_app.planner.measuring.measure import measure
from planner_app.planner.opening import Opened, open_model
from planner_app.planner.planner import Planner

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "planner_app" / "data" / "demo.keras"
TRAIN = ROOT / "tests" / "doctor" / "train.py"
BATCH = 128
MIB = 1 << 20


@pytest.fixture(scope="module")
def opened() -> Opened:
    return open_model(str(DEMO))


@pytest.fixture(scope="module")
def planner(opened: Opened) -> Planner:
    return Planner(opened.checked)


@pytest.fixture(scope="module")
def limit(planner) -> int:
    setup = Setup(batch=BATCH)
    needed = planner.estimate(setup, cpu_device()).peak_bytes
    return int(needed * 0.7) // MIB * MIB


def test_that_the_doctor_names_the_layer_that_tensorflow_failed_in(limit, tmp_path, capsys):
    command = [sys.executable, str(TRAIN), str(DEMO), str(BATCH), str(limit // MIB)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=300)
    truth = json.loads(done.stdout.splitlines()[-1])
    file = tmp_path / "train.log"
    file.write_bytes(done.stderr)
    assert main(["doctor", str(file), "--model", str(DEMO), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert truth["layer"]
    assert (found["layer"], found["operation"]) == (truth["layer"], truth["operation"])
    assert found["limit_bytes"] == limit
    beside = found["comparison"]
    assert beside["agrees"] is not False
    assert beside["largest_batch"] < BATCH
    if beside["batch_from_log"]:
        assert beside["per_gpu_batch"] == BATCH
        assert beside["peak_bytes"] > limit


def test_that_the_first_three_pieces_of_advice_really_fit(opened, planner, limit):
    advice = planner.advise(advice_request(Setup(batch=BATCH), cpu_device(limit), opened.description))
    assert not advice.fits
    assert len(advice.options) >= 3
    for option in advice.options[:3]:
        measured = measure(opened.checked, option.setup, Place(limit_bytes=limit), steps=2)
        assert measured.oom is None, option.changes
        assert not measured.ended
        assert 0 < (measured.peak_bytes or 0) <= limit
