"""A self-test's file and page. The run itself takes minutes: `plimsoll selftest` is tried by hand before a release."""

from dataclasses import replace
from importlib import resources
from pathlib import Path

from planner_app.core.measure.calibration import Calibration, Sample
from planner_app.core.measure.compare import Comparison, Part
from planner_app.core.measure.selftest import Check, SelfTest
from planner_app.files.kept.calibrations import Calibrations
from planner_app.files.kept.selftests import write_selftest
from planner_app.planner.measuring.selftest import MODELS
from planner_app.planner.opening import check_model
from planner_app.reports.html.selftest_page import selftest_page

MB = 1_000_000
COMPARED = Comparison(
    estimated_bytes=102 * MB,
    low_bytes=95 * MB,
    high_bytes=120 * MB,
    measured_bytes=(100 * MB,),
    estimated_live_bytes=90 * MB,
    measured_live_bytes=90 * MB,
    replicas=1,
    terms=(Part("kernel scratch", 12 * MB, 9 * MB), Part("allocator overhead", 0, MB)),
)
FOUND = SelfTest(
    "NVIDIA <L4>",
    "2.21.0",
    "3.15.1",
    "550.1",
    "0.1.0",
    "2026-01-01T00:00:00Z",
    (Check("dense", "weights", 256, 10.0, COMPARED), Check("recurrent", "loops", 64, 1.0, problem="it was killed")),
    ("groups",),
)


def test_that_a_self_test_says_how_far_off_and_by_which_term():
    assert FOUND.checks[0].off == ("kernel scratch", 3 * MB)
    assert "2.0% off" in FOUND.verdict
    assert "1 of 1" in FOUND.verdict


def test_that_a_measurement_without_results_says_so():
    assert "Nothing" in replace(FOUND, checks=FOUND.checks[1:]).verdict


def test_that_the_page_shows_every_model_and_takes_no_orders_from_a_name():
    page = selftest_page(FOUND)
    for word in ("dense", "+2.0%", "kernel scratch", "it was killed", "groups", "2.21.0"):
        assert word in page
    assert "<L4>" not in page


def test_that_the_file_calibrates_another_machine_and_says_where_it_is_from(tmp_path: Path):
    sample = Sample("dense", "", "batch 256", "2026-01-01T00:00:00Z", 102 * MB, (100 * MB,))
    file = tmp_path / "selftest.json"
    write_selftest(file, FOUND, (Calibration("NVIDIA L4", "2.21.0", "3.15.1", False, (sample,)),))
    (taken,) = Calibrations(tmp_path / "other").import_file(file)
    assert taken.device == "NVIDIA L4" and taken.samples == (sample,)
    assert '"hardware": "NVIDIA <L4>"' in file.read_text()


def test_that_every_model_of_the_set_is_there_and_can_be_opened():
    for name, _, _ in MODELS:
        source = resources.files("planner_app.data").joinpath("selftest", f"{name}.json")
        with resources.as_file(source) as file:
            assert check_model(str(file)).config
