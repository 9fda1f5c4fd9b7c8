"""Measurements, calibrations and searches on disk: written whole or not at all, refused with a sentence."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from planner_app.core.measure.calibration import Calibration, Sample
from planner_app.core.measure.measurement import Measurement, Order, Place, Run, Step, StepMemory, Versions
from planner_app.core.measure.search import Try
from planner_app.core.model.setup import Backend, Setup, parse_optimizer
from planner_app.core.replay.timeline import Moment, Origin, Timeline
from planner_app.errors import PlannerError
from planner_app.files.kept.calibrations import Calibrations
from planner_app.files.kept.measurements import check_writable, read_measurement, summary, write_measurement
from planner_app.files.kept.searches import SearchFile

ROOT = Path(__file__).parents[2]
LINE = Timeline("CPU:0", 10, (Origin("before the step"), Origin("a/MatMul", "a")), (Moment(0, 1, 8, 256, 266),))
MEASURED = Measurement(
    versions=Versions("0.1.0", "2.21.0", "3.15.1", "3.11.7", "570.86.15"),
    hardware="NVIDIA L4",
    place=Place((0,)),
    order=Order.ORDINARY,
    model="net",
    model_sha256="abc",
    setup=Setup(batch=32, optimizer=parse_optimizer("sgd:momentum=0.9,nesterov=true"), sizes=(("x", (3, 4)),)),
    measured_at="2026-11-16T04:37:00Z",
    runs=(
        Run(
            steps=tuple(Step(n, 0.5, (StepMemory("GPU:0", 10, 100 * n, 10),)) for n in (1, 2, 3)),
            timeline=LINE,
        ),
    ),
)


def test_that_a_measurement_survives_a_round_trip(tmp_path):
    file = tmp_path / "result.json"
    write_measurement(file, MEASURED)
    assert read_measurement(file) == MEASURED
    told = msgspec.json.decode(file.read_bytes())
    assert told["summary"]["peak_bytes"] == {"GPU:0": 300}
    assert told["summary"]["samples_per_second"] == 64
    assert [each.name for each in tmp_path.iterdir()] == ["result.json"]


def test_that_a_summary_says_what_a_program_looks_for():
    told = summary(MEASURED)
    assert {"peak_bytes", "oom", "seconds_per_step", "leak_bytes_per_step", "versions", "model_sha256"} <= told.keys()
    assert told["lowest_peak_bytes"] == {"GPU:0": 200}
    assert told["first_step_peak_bytes"] == {"GPU:0": 100}
    assert told["leak_bytes_per_step"] is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a measurement"),
        (b"{}", "not a measurement"),
        (b"\xff\xfe", "not a measurement"),
        (b"[" * 100_000, "not a measurement"),
        (b'{"format": "plimsoll plan", "version": 1}', "is not a measurement: make one with plimsoll measure"),
        (b'{"format": "plimsoll measurement", "version": 2}', "newer plimsoll"),
        (b'{"format": "plimsoll measurement", "version": 1, "summary": {}}', "not a measurement that can be read"),
    ],
)
def test_that_an_invalid_measurement_is_refused_with_a_sentence(tmp_path, content, words):
    file = tmp_path / "result.json"
    file.write_bytes(content)
    with pytest.raises(PlannerError, match=words):
        read_measurement(file)


def test_that_a_place_that_can_not_be_written_is_known_before_anything_is_measured(tmp_path):
    check_writable(tmp_path / "result.json")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(PlannerError, match="there is no folder"):
        check_writable(tmp_path / "nowhere" / "result.json")
    with pytest.raises(PlannerError, match="it is a folder"):
        check_writable(tmp_path)
    with pytest.raises(PlannerError, match="can't be read: no such file"):
        read_measurement(tmp_path / "result.json")


def test_that_a_full_disk_leaves_the_old_file_and_a_sentence(tmp_path):
    """A process that may write no more than a hundred bytes: what a full disk does to it."""
    file = tmp_path / "result.json"
    write_measurement(file, MEASURED)
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from planner_app.errors import PlannerError\n"
        "from planner_app.files.kept.measurements import read_measurement, write_measurement\n"
        "file = Path(sys.argv[1]); measured = read_measurement(file)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try: write_measurement(file, measured)\n"
        "except PlannerError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert "can't be written" in done.stdout
    assert "file too large" in done.stdout
    assert read_measurement(file) == MEASURED
    assert [each.name for each in tmp_path.iterdir()] == ["result.json"]


SAMPLE = Sample("net", "abc", "batch 8", "2026-11-16T04:37:00Z", 100, (110, 120))
VERSIONS = {"tensorflow": "2.21.0", "keras": "3.15.1"}
ABOUT = {**VERSIONS, "driver": None, "xla": False}


def test_that_calibrations_are_found_for_their_device_and_versions(tmp_path):
    store = Calibrations(tmp_path / "calibrations")
    assert store.all() == ()
    assert store.find("NVIDIA L4", xla=False, versions=VERSIONS) is None
    store.add(SAMPLE, device="NVIDIA L4", **ABOUT)
    store.add(replace(SAMPLE, model_sha256="other"), device="NVIDIA L4", **ABOUT)
    store.add(SAMPLE, device="NVIDIA T4", **{**ABOUT, "tensorflow": "1.15"})
    found = store.find("nvidia l4", xla=False, versions=VERSIONS)
    assert isinstance(found, Calibration)
    assert len(found.samples) == 2
    assert store.find("NVIDIA L4", xla=True, versions=VERSIONS) is None
    assert store.find("NVIDIA T4", xla=False, versions=VERSIONS) is None  # of another TensorFlow
    assert len(store.all()) == 2


def test_that_calibrations_on_jax_are_for_jax_alone(tmp_path):
    store, versions = Calibrations(tmp_path), VERSIONS | {"jax": "0.10.2"}
    store.add(SAMPLE, device="NVIDIA L4", tensorflow="", keras="3.15.1", driver=None, xla=True, jax="0.10.2")
    (kept,) = store.all()
    assert kept.title == "NVIDIA L4, JAX 0.10.2, Keras 3.15.1"
    assert store.find("NVIDIA L4", xla=True, versions=versions, backend=Backend.JAX) == kept
    assert store.find("NVIDIA L4", xla=True, versions=versions) is None
    assert store.find("NVIDIA L4", xla=True, versions=versions | {"jax": "1"}, backend=Backend.JAX) is None


def test_that_calibrations_can_be_deleted(tmp_path):
    store = Calibrations(tmp_path)
    for device in ("NVIDIA L4", "NVIDIA T4"):
        store.add(SAMPLE, device=device, **ABOUT)
    assert store.forget("nvidia l4") == 1
    assert [each.device for each in store.all()] == ["NVIDIA T4"]
    assert store.forget() == 1
    assert list(tmp_path.glob("*.json")) == []


def test_that_calibrations_move_to_another_machine(tmp_path):
    here, there, file = Calibrations(tmp_path / "a"), Calibrations(tmp_path / "b"), tmp_path / "out.json"
    here.add(SAMPLE, device="NVIDIA L4", **ABOUT)
    there.add(replace(SAMPLE, model_sha256="theirs"), device="NVIDIA L4", **ABOUT)
    assert here.export(file) == 1
    (taken,) = there.import_file(file)
    assert {sample.model_sha256 for sample in taken.samples} == {"abc", "theirs"}
    assert there.all() == (taken,)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"calibrations": [], "format": "x"}', b'{"calibrations": [], "version": 9}']
)
def test_that_an_invalid_calibration_file_is_refused_and_skipped_in_the_folder(tmp_path, content):
    (tmp_path / "broken.json").write_bytes(content)
    store = Calibrations(tmp_path)
    assert store.all() == ()
    with pytest.raises(PlannerError, match=r"(does not hold|has no) calibrations"):
        store.import_file(tmp_path / "broken.json")
    store.add(SAMPLE, device="cpu", **ABOUT)
    assert len(store.all()) == 1


def test_that_a_search_is_remembered_until_it_is_over(tmp_path):
    file, tries = SearchFile("model", Setup(batch=1), folder=tmp_path), (Try(8, True, 100), Try(9, False))
    assert file.read() == ()
    file.keep(tries)
    assert SearchFile("model", Setup(batch=1), folder=tmp_path).read() == tries
    assert SearchFile("model", Setup(batch=2), folder=tmp_path).read() == ()
    file.forget()
    assert file.read() == ()


def test_that_a_search_that_can_not_be_saved_continues(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    file = SearchFile("model", folder=blocked)
    file.keep((Try(8, True),))
    assert file.read() == ()
    file.forget()
