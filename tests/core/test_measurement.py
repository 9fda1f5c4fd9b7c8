"""The summary figures of a measurement."""

import pytest

from planner_app.core.measure.measurement import (
    GpuUse,
    Measurement,
    Order,
    OutOfMemory,
    Place,
    Run,
    Step,
    StepMemory,
    Versions,
    parse_place,
)
from planner_app.core.model.setup import Setup
from planner_app.core.replay.timeline import Held, Moment, Origin, Timeline, by_layer, held_at, series
from planner_app.errors import SetupError


def measurement(*runs: Run, batch: int = 32, gpus: int = 1) -> Measurement:
    return Measurement(
        versions=Versions("0.1", "2.21.0", "3.15.1", "3.11"),
        hardware="CPU",
        place=Place(),
        order=Order.ORDINARY,
        model="net",
        model_sha256="abc",
        setup=Setup(batch=batch, gpus=gpus),
        measured_at="2026-11-16T04:37:00Z",
        runs=runs,
    )


def run(*peaks: int, seconds: tuple[float, ...] = (), gpus: tuple[GpuUse, ...] = (), **more) -> Run:
    times = seconds or (0.5,) * len(peaks)
    steps = tuple(
        Step(n + 1, times[n], (StepMemory("GPU:0", 10, peak, 10),), gpus=gpus) for n, peak in enumerate(peaks)
    )
    return Run(steps=steps, **more)


@pytest.mark.parametrize(
    ("text", "place", "written"),
    [
        ("cpu", Place(), "cpu"),
        (" CPU ", Place(), "cpu"),
        ("gpu", Place((0,)), "gpu:0"),
        ("gpu:3", Place((3,)), "gpu:3"),
        ("GPU:1, 0", Place((1, 0)), "gpu:1,0"),
    ],
)
def test_that_a_place_is_read_and_written(text, place, written):
    assert parse_place(text) == place
    assert str(place) == written


@pytest.mark.parametrize("text", ["", "tpu", "gpu:", "gpu:x", "gpu:0,0", "gpu:0;1", "gpu:-1", "cpu:0", "gpu:²"])
def test_that_no_place_is_an_error(text):
    with pytest.raises(SetupError):
        parse_place(text)


def test_that_the_first_step_does_not_count_as_steady():
    found = measurement(run(900, 500, 600), run(950, 700, 400))
    assert found.peaks == {"GPU:0": (600, 700)}
    assert found.peak_bytes == 700
    assert found.typical_bytes == 650
    assert found.step_peaks("GPU:0") == (500, 600, 700, 400)


def test_that_a_single_step_is_better_than_none():
    assert measurement(run(900)).peak_bytes == 900
    assert measurement(run(900)).seconds_per_step is None  # with tracing and all that, it is no speed


def test_that_speed_is_that_of_the_step_in_the_middle():
    found = measurement(run(1, 1, 1, 1, seconds=(9.0, 0.5, 0.25, 2.0)), batch=64, gpus=2)
    assert found.seconds_per_step == 0.5
    assert found.samples_per_second == 128


def test_that_energy_is_reported_only_if_every_gpu_reports_it():
    both = (GpuUse("GPU:0", energy_joules=30.0), GpuUse("GPU:1", energy_joules=34.0))
    one = (GpuUse("GPU:0", energy_joules=30.0), GpuUse("GPU:1"))
    assert measurement(run(1, 1, gpus=both), batch=64, gpus=2).joules_per_sample == 1.0
    assert measurement(run(1, 1, gpus=one)).joules_per_sample is None
    assert measurement(run(1, 1)).joules_per_sample is None


def test_that_one_process_out_of_memory_is_out_of_memory():
    broken = OutOfMemory("step 1", "conv/Conv2D", "conv")
    found = measurement(run(5, 5), run(oom=broken), run(6, 6))
    assert found.oom == broken
    assert found.peak_bytes == 6


def test_that_nothing_measured_has_no_peak():
    found = measurement(run(oom=OutOfMemory("building the model")))
    assert (found.peak_bytes, found.typical_bytes, found.seconds_per_step, found.devices) == (None, None, None, ())


CONV, SCRATCH = Origin("conv/Conv2D", "conv", "forward"), Origin("dense/MatMul", "dense", "backward")
LINE = Timeline(
    "CPU:0",
    1000,
    (Origin("before the step"), CONV, SCRATCH),
    (
        Moment(0, 1, 100, 256, 1256),
        Moment(5, 2, 300, 512, 1768, scratch=True),
        Moment(7, 0, -200, -256, 1512),
        Moment(9, 2, -300, -512, 1000, scratch=True),
        Moment(10, 1, -100, -256, 744),
    ),
)


def test_that_the_peak_of_a_timeline_is_found_with_what_is_held_then():
    assert (LINE.peak, LINE.peak_bytes) == (1, 1768)
    held = held_at(LINE, LINE.peak)
    assert held == (Held(SCRATCH, 300, 512, True), Held(CONV, 100, 256, False))
    assert by_layer(held) == {"dense": 300, "conv": 100}
    assert LINE.start_bytes + sum(each.chunk_bytes for each in held) == LINE.peak_bytes


def test_that_a_timeline_is_a_curve_over_the_step():
    assert list(series(LINE)) == [(0.0, 1000), (0.0, 1256), (0.5, 1768), (0.7, 1512), (0.9, 1000), (1.0, 744)]
    assert list(series(Timeline("CPU:0", 7, (), ()))) == [(0.0, 7)]
