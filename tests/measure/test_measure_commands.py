"""`measure`, `calibrate` and `max-batch --measured` as a user runs them."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from measured_models import DEMO, PACKAGE

from planner_app.cli import main
from planner_app.core.measure.measurement import Order, Place
from planner_app.core.measure.search import Try
from planner_app.core.model.setup import Setup
from planner_app.errors import Cancelled
from planner_app.files.kept.measurements import read_measurement
from planner_app.planner.measuring.search import search

MIB = 1 << 20
MODEL = str(DEMO)


@pytest.fixture
def run(capsys):
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> tuple[Path, dict]:
    """One measurement for the whole module, by the real command."""
    file = tmp_path_factory.mktemp("measured") / "result.json"
    command = [
        sys.executable,
        "-m",
        "planner_app",
        "measure",
        MODEL,
        "--batch",
        "8",
        "--inline",
        "--json",
        "-o",
        str(file),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    )
    assert (done.returncode, done.stderr) == (0, "")
    return file, json.loads(done.stdout)


def test_that_measure_says_what_a_program_looks_for(measured):
    file, told = measured
    assert set(told["peak_bytes"]) == {"CPU:0"}
    assert told["oom"] is None
    assert told["seconds_per_step"] > 0
    assert told["leak_bytes_per_step"] is None  # of four steps nobody can tell
    assert (told["batch"], told["gpus"], told["on"], told["jit"]) == (8, 1, "cpu", False)
    first = told["steps"][0]["memory"]["CPU:0"]
    assert first["before_bytes"] < first["peak_bytes"] > first["after_bytes"]
    assert read_measurement(file).runs[0].live_bytes == told["live_bytes"]


def larger_by_a_quarter(measured: Path, file: Path) -> int:
    """The same measurement, had its steps taken more than any estimate would say; the new peak."""
    told = json.loads(measured.read_text())
    for run in told["measurement"]["runs"]:
        for step in run["steps"]:
            for memory in step["memory"]:
                memory["peak_bytes"] = memory["peak_bytes"] * 5 // 4
    file.write_text(json.dumps(told))
    return read_measurement(file).runs[0].steps[-1].memory[0].peak_bytes


def test_that_an_estimate_is_calibrated_with_a_measurement_until_it_is_deleted(measured, run, tmp_path):
    told = measured[1]
    file = tmp_path / "larger.json"
    peak = larger_by_a_quarter(measured[0], file)
    alone = json.loads(run("estimate", MODEL, "--batch", "16", "--json")[1])
    code, out, _ = run("calibrate", MODEL, str(file), "--json")
    compared = json.loads(out)
    assert code == 0
    assert compared["comparisons"][0]["measured_live_bytes"] == told["live_bytes"]
    ratio = compared["calibrations"][0]["ratio"]
    assert ratio == pytest.approx(peak / compared["comparisons"][0]["estimated_bytes"], abs=1e-5)
    calibrated = json.loads(run("estimate", MODEL, "--batch", "16", "--json")[1])
    assert calibrated["peak_bytes"] == pytest.approx(alone["peak_bytes"] * ratio, rel=1e-6)  # the ratio is told rounded
    assert calibrated["peak_bytes"] > alone["peak_bytes"]
    assert sum(calibrated["breakdown"].values()) == calibrated["peak_bytes"]
    assert any(text.startswith("Calibrated with one measurement on cpu") for text in calibrated["warnings"])
    again = json.loads(run("estimate", MODEL, "--batch", "16", "--uncalibrated", "--json")[1])
    assert again["peak_bytes"] == alone["peak_bytes"]
    assert "Calibrated with one measurement" in run("max-batch", MODEL, "--limit", "200MiB")[1]
    assert "calibrated with measurements" in run("sweep", MODEL, "--batches", "16")[1]
    export = tmp_path / "calibrated.json"
    assert run("calibrate", "--export", str(export))[0] == 0
    assert run("calibrate", "--forget", "cpu")[1] == "1 calibrations forgotten.\n"
    assert json.loads(run("estimate", MODEL, "--batch", "16", "--json")[1])["warnings"] == alone["warnings"]
    assert (
        "demo_resnet, batch 8, float32, own"
        in run("calibrate", "--import", str(export))[1] + run("calibrate", "--list")[1]
    )
    assert run("calibrate", "--forget", "all")[0] == 0
    assert run("calibrate", "--list")[1].startswith("No calibrations yet")


def test_that_a_comparison_is_printed_as_a_table(measured, run):
    code, out, _ = run("calibrate", MODEL, str(measured[0]), "--compare")
    assert code == 0
    assert "estimated" in out
    assert "kept from step to step" in out
    assert "kernel scratch" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("measure", MODEL, "--batch", "8", "--on", "tpu"), "is not a place to measure on"),
        (("measure", MODEL, "--batch", "8", "--on", "gpu:0", "--gpus", "2"), "contradict each other"),
        (("measure", MODEL, "--batch", "8", "--limit", "lots"), "is not an amount of memory"),
        (("measure", MODEL, "--batch", "8", "--limit", "1MiB"), "too little for TensorFlow itself"),
        (("measure", MODEL, "--batch", "8", "-o", "/nowhere/at/all.json"), "there is no folder"),
        (("measure", "missing.keras", "--batch", "8"), "missing.keras"),
        (("calibrate",), "Name a model and its measurement"),
        (("calibrate", MODEL), "Name a model and its measurement"),
        (("calibrate", "--import", "missing.json"), "can't be read"),
        (("max-batch", MODEL, "--measured"), "set one with --limit 8GiB"),
    ],
)
def test_that_nonsense_gets_one_sentence(run, arguments, said):
    code, out, err = run(*arguments)
    assert (code, out) == (1, "")
    assert said in err
    assert err.startswith("plimsoll: ")
    assert len(err.splitlines()) == 1
    assert "bug in plimsoll" not in err


def test_that_a_search_finds_the_boundary_and_is_gone_on_with_after_a_cancel(demo):
    """Of multiples of 48 the demo gets one through 64 MiB; two take twice as much."""
    tries: list[Try] = []
    stop = threading.Event()

    def note(tried: Try) -> None:
        tries.append(tried)
        stop.set()

    about = {"order": Order.INLINE, "multiple": 48, "on_try": note, "confirm": 1}
    with pytest.raises(Cancelled):
        search(demo, Setup(batch=1), Place(limit_bytes=64 * MIB), 48, cancelled=stop, **about)
    assert [(each.batch, each.fits) for each in tries] == [(48, True)]
    found = search(demo, Setup(batch=1), Place(limit_bytes=64 * MIB), 48, known=tuple(tries), **about)
    assert [(each.batch, each.fits) for each in tries] == [(48, True), (96, False)]
    assert (found.batch, found.above, found.exact) == (48, 96, True)
    assert "out of memory in step 1" in tries[1].reason
    assert tries[0].limit_bytes == 64 * MIB
