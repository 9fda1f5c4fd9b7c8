"""What measurements teach an estimate. Ratios and bands worked out by hand."""

from dataclasses import replace
from math import inf, sqrt

import pytest

from planner_app.core.estimate.breakdown import Term
from planner_app.core.estimate.curve import Level
from planner_app.core.estimate.estimate import Estimate, LayerMemory
from planner_app.core.measure.calibration import (
    Calibration,
    Sample,
    calibrated,
    calibrated_level,
    sample_of,
    sentence,
    teaches,
    uncalibrated_limit,
)
from planner_app.core.measure.compare import Comparison
from planner_app.core.measure.measurement import GpuUse, Measurement, Order, Place, Run, Step, StepMemory, Versions
from planner_app.core.model.setup import Setup

LEVEL = Level(peak_bytes=1000, low_bytes=900, high_bytes=1500)


def sample(estimated: int, *measured: int, model: str = "net", **more) -> Sample:
    return Sample(model, "", "batch 8", "2026-11-16T04:37:00Z", estimated, measured, **more)


def calibration(*samples: Sample) -> Calibration:
    return Calibration("NVIDIA L4", "2.21.0", "3.15.1", False, samples)


def made(**more) -> Estimate:
    first = LayerMemory("dense", "Dense", 1, 1, 1, 1, 700)
    return Estimate(
        setup=Setup(batch=8),
        device="NVIDIA L4",
        xla=False,
        peak_bytes=1000,
        low_bytes=900,
        high_bytes=1500,
        live_bytes=800,
        temp_bytes=0,
        state_bytes=100,
        device_bytes=1400,
        capacity_bytes=1040,
        fits=True,
        breakdown={"weights": 600, "activations": 400},
        layers=(first, replace(first, name="", peak_bytes=300)),
        peak_operation="",
        peak_layer="",
        peak_phase="",
        held=(),
        **more,
    )


def test_that_one_measurement_moves_the_estimate_and_leaves_the_band_as_wide_as_it_was():
    learnt = calibration(sample(100, 110))
    assert learnt.ratio == pytest.approx(1.1)
    assert learnt.reach == inf
    assert calibrated_level(LEVEL, learnt) == Level(1100, 990, 1650)


def test_that_measurements_that_agree_narrow_the_band():
    learnt = calibration(sample(100, 109), sample(100, 110), sample(100, 111))
    reach = 4.303 * 0.01 * sqrt(1 + 1 / 3)  # Student's t for two degrees of freedom, a deviation of one percent
    assert learnt.reach == pytest.approx(reach)
    level = calibrated_level(LEVEL, learnt)
    assert level == Level(1100, round(1000 * (1.1 - reach)), round(1000 * (1.1 + reach)))
    assert level.high_bytes - level.low_bytes < LEVEL.high_bytes - LEVEL.low_bytes


def test_that_no_measurement_that_was_made_lies_outside_the_band():
    learnt = calibration(sample(100, 100, 100, 180), sample(100, 100), sample(100, 100), sample(100, 100, 60, 101))
    assert learnt.reach == 0  # the processes in the middle agree; two did not
    assert calibrated_level(LEVEL, learnt) == Level(1000, 600, 1800)


def test_that_measurements_that_disagree_do_not_widen_the_band_beyond_what_they_saw():
    learnt = calibration(sample(100, 90), sample(100, 110))
    assert calibrated_level(LEVEL, learnt) == Level(1000, 900, 1500)


def test_that_an_estimate_is_calibrated_as_a_whole_and_says_so():
    learnt = calibration(sample(100, 110, outside_bytes=500, limit_bytes=1050))
    found = calibrated(made(), learnt)
    assert (found.peak_bytes, found.device_bytes) == (1100, 1600)
    assert (found.capacity_bytes, found.fits) == (1050, False)
    assert found.breakdown[str(Term.CALIBRATION)] == 100
    assert sum(found.breakdown.values()) == found.peak_bytes
    assert sum(layer.peak_bytes for layer in found.layers) == found.peak_bytes
    assert found.warnings == (sentence(learnt),)
    assert sentence(learnt) == (
        "Calibrated with one measurement on NVIDIA L4, the last of 2026-11-16: +10.0% against the estimate alone."
    )


def test_that_an_estimate_that_was_right_stays_as_it_was():
    found = calibrated(made(), calibration(sample(100, 100)))
    assert (found.peak_bytes, found.fits, found.device_bytes) == (1000, True, 1400)
    assert str(Term.CALIBRATION) not in found.breakdown


def test_that_a_limit_is_carried_over_to_the_estimate_alone():
    assert uncalibrated_limit(1250, calibration(sample(100, 125))) == 1000


def test_that_a_point_measured_again_takes_the_place_of_the_old():
    learnt = calibration(sample(100, 110), sample(100, 130, model="other"))
    again = learnt.with_sample(sample(100, 120))
    assert [each.ratio for each in again.samples] == [1.3, 1.2]


def measured(place: Place, order: Order = Order.ORDINARY) -> Measurement:
    use = (GpuUse("GPU:0", 9000, 7400),)
    steps = tuple(Step(n, 0.1, (StepMemory("GPU:0", 1, 5, 1),), gpus=use) for n in (1, 2))
    return Measurement(
        versions=Versions("0", "2.21.0", "3.15.1", "3.11"),
        hardware="NVIDIA L4",
        place=place,
        order=order,
        model="net",
        model_sha256="abc",
        setup=Setup(batch=16, gpus=2),
        measured_at="2026-11-16T04:37:00Z",
        runs=(Run(steps=steps, limit_bytes=7000),),
    )


def test_that_a_gpu_teaches_its_limit_and_what_lies_outside_the_pool():
    comparison = Comparison(100, 90, 150, (120,), 80, None, 1)
    found = sample_of(comparison, measured(Place((0, 1))))
    assert (found.outside_bytes, found.limit_bytes) == (400, 7000)
    assert found.setup == "batch 16, float32, adam, 2 GPUs"
    chosen = sample_of(comparison, measured(Place((0, 1), limit_bytes=7000)))
    assert (chosen.outside_bytes, chosen.limit_bytes) == (400, None)


def test_that_a_pool_of_threads_teaches_nothing_of_kernels_one_by_one():
    assert teaches(measured(Place((0,)))) == ""
    assert teaches(measured(Place(), Order.INLINE)) == ""
    assert "measure with --inline" in teaches(measured(Place()))
