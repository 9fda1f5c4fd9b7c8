"""Speeds from measurement files."""

import pytest

from planner_app.core.measure.measurement import Measurement, Order, Place, Run, Step, Versions
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup
from planner_app.errors import DeviceError, ModelError, PlannerError
from planner_app.files.devices.catalogue import load_catalogue
from planner_app.files.devices.measured_speeds import measured_speeds
from planner_app.files.kept.measurements import write_measurement

MODEL = CheckedModel("net", "keras", {}, sha256="ab" * 32)
OWN = load_catalogue()
SETUP = Setup(batch=64, gpus=2, accumulate=2)
TWO_GPUS = Place((0, 1))


@pytest.fixture
def measured(tmp_path):
    def write(hardware: str = "NVIDIA L4 + NVIDIA L4", place: Place = TWO_GPUS, sha256: str = MODEL.sha256):
        steps = tuple(Step(number, seconds, ()) for number, seconds in enumerate((9.0, 0.5, 0.4, 0.6)))
        taken = Measurement(
            Versions("0", "2.21", "3.15", "3.12"),
            hardware,
            place,
            Order.ORDINARY,
            "net",
            sha256,
            SETUP,
            "2026-11-16T05:00:00Z",
            (Run(steps=steps),),
        )
        path = tmp_path / "measured.json"
        write_measurement(path, taken)
        return [path]

    return write


def test_that_the_seconds_of_an_update_are_those_of_all_its_steps(measured):
    assert measured_speeds(measured(), MODEL, OWN) == {("NVIDIA L4", SETUP): 2 * 0.5}


def test_that_names_are_matched_exactly(measured):
    assert list(measured_speeds(measured("NVIDIA L40S + NVIDIA L40S"), MODEL, OWN)) == [("NVIDIA L40S", SETUP)]
    with pytest.raises(DeviceError, match="No device is called"):
        measured_speeds(measured("NVIDIA L40X + NVIDIA L40X"), MODEL, OWN)


def test_that_a_measurement_of_something_else_is_refused(measured):
    with pytest.raises(ModelError, match="another model, 'net'"):
        measured_speeds(measured(sha256="cd" * 32), MODEL, OWN)
    with pytest.raises(DeviceError, match="GPUs of one kind"):
        measured_speeds(measured("NVIDIA L4 + NVIDIA T4"), MODEL, OWN)
    with pytest.raises(DeviceError, match="GPUs of one kind"):
        measured_speeds(measured("some CPU", Place()), MODEL, OWN)


def test_that_a_missing_measurement_is_reported(tmp_path):
    assert measured_speeds([], MODEL, OWN) == {}
    with pytest.raises(PlannerError):
        measured_speeds([tmp_path / "none.json"], MODEL, OWN)
