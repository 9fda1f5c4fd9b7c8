"""How measurements calibrate an estimate. Ratios and bands worked out by hand."""

from dataclasses import replace
from math import inf, sqrt

import pytest
from steps import Step as HandmadeStep

from planner_app.core.estimate.breakdown import Term
from planner_app.core.estimate.estimate import estimate
from planner_app.core.estimate.level import Level
from planner_app.core.estimate.need import Need
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.device import custom_device
from planner_app.core.measure.calibration import Calibration, Sample, calibrated_level, sentence
from planner_app.core.measure.compare import Comparison, compare
from planner_app.core.measure.measurement import GpuUse, Measurement, Order, Place, Run, Step, StepMemory, Versions
from planner_app.core.measure.sample import sample_of, why_not_calibrating
from planner_app.core.model.setup import Jit, Setup
from planner_app.core.model.trace import Size
from planner_app.core.replay.memory import Memory

LEVEL = Level(peak_bytes=1000, low_bytes=900, high_bytes=1500)


def sample(estimated: int, *measured: int, model: str = "net", **more) -> Sample:
    return Sample(model, "", "batch 8", "2026-11-16T04:37:00Z", estimated, measured, **more)


def calibration(*samples: Sample) -> Calibration:
    return Calibration("NVIDIA L4", "2.21.0", "3.15.1", False, samples)


CARD = custom_device("NVIDIA L4", 16 << 30)


def step() -> Memory:
    """Half a gibibyte of weights, and a mebibyte for each sample."""
    made = HandmadeStep()
    weight = made.variable(512 << 20)
    kept = made.make("MatMul", made.read(weight), size=Size(0, 1 << 20))
    made.make("Sum", kept, size=4)
    return Memory(made.trace(), Setup(batch=8, jit=Jit.OFF).step("gpu:8.0"))


def test_that_one_measurement_moves_the_estimate_and_leaves_the_band_as_wide_as_it_was():
    found = calibration(sample(100, 110))
    assert found.ratio == pytest.approx(1.1)
    assert found.reach == inf
    assert calibrated_level(LEVEL, found) == Level(1100, 990, 1650)


def test_that_measurements_that_agree_narrow_the_band():
    found = calibration(sample(100, 109), sample(100, 110), sample(100, 111))
    reach = 4.303 * 0.01 * sqrt(1 + 1 / 3)  # Student's t for two degrees of freedom, a deviation of one percent
    assert found.reach == pytest.approx(reach)
    level = calibrated_level(LEVEL, found)
    assert level == Level(1100, round(1000 * (1.1 - reach)), round(1000 * (1.1 + reach)))
    assert level.high_bytes - level.low_bytes < LEVEL.high_bytes - LEVEL.low_bytes


def test_that_no_measurement_that_was_made_lies_outside_the_band():
    found = calibration(sample(100, 100, 100, 180), sample(100, 100), sample(100, 100), sample(100, 100, 60, 101))
    assert found.reach == 0  # the processes in the middle agree; two did not
    assert calibrated_level(LEVEL, found) == Level(1000, 600, 1800)


def test_that_measurements_that_disagree_do_not_widen_the_band_beyond_what_they_saw():
    found = calibration(sample(100, 90), sample(100, 110))
    assert calibrated_level(LEVEL, found) == Level(1000, 900, 1500)


def test_that_an_estimate_is_calibrated_as_a_whole_and_says_so():
    found, memory = calibration(sample(100, 110, outside_bytes=500, limit_bytes=550 << 20)), step()
    alone = estimate(Need(memory, CARD), Setup(batch=8, jit=Jit.OFF))
    moved = estimate(Need(memory, CARD, found), Setup(batch=8, jit=Jit.OFF))
    assert moved.peak_bytes == round(alone.peak_bytes * 1.1)
    assert moved.device_bytes == moved.peak_bytes + 500
    assert (moved.capacity_bytes, moved.verdict) == (550 << 20, Verdict.DOES_NOT_FIT)
    assert alone.verdict is Verdict.FITS
    assert moved.breakdown[str(Term.CALIBRATION)] == moved.peak_bytes - alone.peak_bytes
    assert sum(moved.breakdown.values()) == moved.peak_bytes
    assert sum(layer.peak_bytes for layer in moved.layers) == moved.peak_bytes
    assert moved.warnings == (sentence(found),)
    assert sentence(found) == (
        "Calibrated with one measurement on NVIDIA L4, the last of 2026-11-16: +10.0% against the estimate alone."
    )


def test_that_an_estimate_that_was_right_stays_as_it_was():
    memory, setup = step(), Setup(batch=8, jit=Jit.OFF)
    alone, moved = (estimate(Need(memory, CARD, each), setup) for each in (None, calibration(sample(100, 100))))
    assert (moved.peak_bytes, moved.verdict, moved.device_bytes) == (alone.peak_bytes, Verdict.FITS, alone.device_bytes)
    assert str(Term.CALIBRATION) not in moved.breakdown


def test_that_the_largest_batch_is_that_of_the_calibrated_estimate():
    need = Need(step(), CARD, calibration(sample(100, 110)), limit_bytes=1 << 30)
    largest = need.largest()
    assert need.level(largest.batch).peak_bytes <= 1 << 30 < need.level(largest.batch + 1).peak_bytes
    assert largest.batch < Need(step(), CARD, limit_bytes=1 << 30).largest().batch


def test_that_a_point_measured_again_takes_the_place_of_the_old():
    found = calibration(sample(100, 110), sample(100, 130, model="other"))
    again = found.with_sample(sample(100, 120))
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


def test_that_a_gpu_tells_its_limit_and_what_lies_outside_the_pool():
    comparison = Comparison(100, 90, 150, (120,), 80, None, 1)
    found = sample_of(comparison, measured(Place((0, 1))))
    assert (found.outside_bytes, found.limit_bytes) == (400, 7000)
    assert found.setup == "batch 16, float32, own, 2 GPUs"
    chosen = sample_of(comparison, measured(Place((0, 1), limit_bytes=7000)))
    assert (chosen.outside_bytes, chosen.limit_bytes) == (400, None)


def test_that_a_measurement_on_a_pool_of_threads_does_not_calibrate():
    assert why_not_calibrating(measured(Place((0,)))) == ""
    assert why_not_calibrating(measured(Place(), Order.INLINE)) == ""
    assert "measure with --inline" in why_not_calibrating(measured(Place()))


def test_that_a_measurement_with_a_limit_on_the_cpu_is_held_against_one_region():
    made = HandmadeStep()
    made.make("Sum", made.make("MatMul", size=20 << 20), size=4)
    memory = Memory(made.trace(), Setup(batch=8, jit=Jit.OFF).step("cpu"))
    grown = replace(measured(Place(), Order.INLINE), setup=Setup(batch=8))
    whole = replace(grown, one_region=True)

    # A pool that grows makes room for 20 MiB with a region of 32, which is handed out whole; the rest are small chunks.
    growing, at_once = compare(memory, grown), compare(memory, whole)
    assert growing is not None and at_once is not None
    assert growing.estimated_bytes >> 20 == 32
    assert at_once.estimated_bytes >> 20 == 20
    assert memory.point(8).in_use_bytes == growing.estimated_bytes
