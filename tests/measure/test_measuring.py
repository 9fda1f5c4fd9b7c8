"""Real training steps in real processes. Each takes seconds, most of them TensorFlow's import."""

import pytest
from measured_models import LEAKING, PARTICULAR

from planner_app.core.estimate.estimate import estimate
from planner_app.core.estimate.need import Need
from planner_app.core.hardware.device import cpu_device
from planner_app.core.measure.compare import STATE, compare, estimated_timeline
from planner_app.core.measure.leak import Verdict, worst_leak
from planner_app.core.measure.measurement import Measurement, Order, Place
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Precision, Setup
from planner_app.core.replay.timeline import held_at
from planner_app.errors import SetupError
from planner_app.planner.measuring.measure import measure
from planner_app.planner.opening import check_model
from planner_app.planner.tracer import Tracer

MIB = 1 << 20
BATCH = 32
SETUP = Setup(batch=BATCH)


@pytest.fixture(scope="module")
def inline(demo: CheckedModel) -> Measurement:
    return measure(demo, SETUP, Place(), order=Order.INLINE, processes=2)


@pytest.fixture(scope="module")
def ordinary(demo: CheckedModel) -> Measurement:
    heard: list[str] = []
    found = measure(demo, SETUP, Place(), steps=4, on_progress=lambda event: heard.append(event.text))
    assert any(text.startswith("step 4 of 4") for text in heard)
    assert any(text.endswith(" s left") for text in heard)
    return found


@pytest.fixture(scope="module")
def tracer(demo: CheckedModel) -> Tracer:
    return Tracer(demo)


def test_that_kernels_one_by_one_take_what_the_estimate_says(inline, tracer):
    memory = tracer.memory(SETUP.step("cpu"))
    told = estimate(Need(memory, cpu_device()), SETUP)
    run, _ = inline.runs
    assert run.live_bytes == pytest.approx(told.live_bytes, rel=0.01)
    assert run.state_bytes == pytest.approx(told.state_bytes, rel=0.01)
    assert inline.peak_bytes == pytest.approx(told.peak_bytes, rel=0.12)  # where regions lie is chance
    assert [step.number for step in run.steps] == [1, 2, 3, 4]
    assert {memory.before_bytes for step in run.steps[2:] for memory in step.memory} == {
        run.steps[2].memory[0].after_bytes
    }


def test_that_kernels_one_by_one_take_the_same_in_every_process_to_the_byte(inline):
    first, second = ([step.memory for step in run.steps] for run in inline.runs)
    assert first == second
    assert inline.runs[0].live_bytes == inline.runs[1].live_bytes


@pytest.mark.parametrize("order", Order)
def test_that_steps_run_in_the_precision_that_was_asked_for(order):
    model = check_model(f"{PARTICULAR}:made")
    found = measure(model, Setup(batch=4, precision=Precision.MIXED_BFLOAT16), Place(), order=order, steps=1)
    assert (found.ended, found.oom, len(found.runs[0].steps)) == ("", None, 1)


def test_that_a_measurement_says_what_it_is_of(inline, demo):
    assert (inline.model, inline.model_sha256) == (demo.name, demo.sha256)
    assert inline.versions.tensorflow.startswith("2.")
    assert inline.versions.keras.startswith("3.")
    assert inline.hardware.startswith("CPU")
    assert (inline.setup, inline.ended, inline.oom) == (SETUP, "", None)
    assert inline.seconds_per_step
    assert inline.samples_per_second == pytest.approx(BATCH / inline.seconds_per_step)


def test_that_the_estimate_is_compared_with_it_term_by_term_and_layer_by_layer(inline, tracer):
    found = compare(tracer.memory(SETUP.step("cpu")), inline)
    assert found is not None
    assert abs(found.error) < 0.12
    assert found.in_band
    timeline = inline.runs[0].timeline
    assert timeline is not None
    assert sum(part.estimated_bytes for part in found.terms) == found.estimated_bytes
    assert sum(part.measured_bytes for part in found.terms) == timeline.peak_bytes
    by_name = {part.name: part for part in found.terms}
    assert by_name[STATE].measured_bytes == pytest.approx(by_name[STATE].estimated_bytes, rel=0.01)
    layers = {part.name: part for part in found.layers}
    assert layers["stem"].measured_bytes == pytest.approx(layers["stem"].estimated_bytes, rel=0.01)
    differences = [abs(part.difference_bytes) for part in found.layers]
    assert differences == sorted(differences, reverse=True)


def test_that_both_timelines_have_the_same_axes(inline, tracer):
    measured = inline.runs[0].timeline
    expected = estimated_timeline(tracer.memory(SETUP.step("cpu")), BATCH)
    assert measured is not None
    assert expected.estimated
    assert expected.peak_bytes == tracer.memory(SETUP.step("cpu")).point(BATCH).in_use_bytes
    assert measured.peak_bytes == inline.peak_bytes

    for timeline in (measured, expected):
        held = held_at(timeline, timeline.peak)
        assert {"stem_norm", "block1_conv1"} <= {each.origin.layer for each in held[:6]}
        assert timeline.start_bytes < 0.1 * timeline.peak_bytes
    assert set(measured.origins) & set(expected.origins) > {origin for origin in expected.origins if origin.layer == ""}


def test_that_steps_on_the_thread_pool_are_measured(ordinary, inline):
    (run,) = ordinary.runs
    assert len(run.steps) == 4
    assert run.timeline is not None
    assert {"stem", "block1_conv1"} <= {origin.layer for origin in run.timeline.origins}
    assert ordinary.peak_bytes is not None
    assert inline.runs[0].live_bytes is not None
    assert ordinary.peak_bytes >= inline.runs[0].live_bytes
    assert all(step.host_bytes and step.host_bytes > 100 * MIB for step in run.steps)
    assert not run.xla


def test_that_too_little_memory_is_a_result_that_names_operation_and_layer(demo, scratch):
    found = measure(demo, SETUP, Place(limit_bytes=12 * MIB))
    assert found.oom is not None
    assert found.ended == ""
    assert found.oom.during == "step 1"
    assert found.oom.layer
    assert found.oom.layer in found.oom.operation
    assert found.oom.shape.startswith("[")
    assert found.oom.requested_bytes
    assert found.oom.device == "CPU:0"
    assert list(scratch.iterdir()) == []
    again = measure(demo, SETUP, Place(limit_bytes=5 << 30), steps=2)  # nothing of it is left
    assert (again.oom, again.ended, len(again.runs[0].steps)) == (None, "", 2)


def test_that_a_model_too_large_for_the_limit_breaks_before_the_first_step(demo):
    found = measure(demo, Setup(batch=4096), Place(limit_bytes=8 * MIB))
    assert found.oom is not None
    assert (found.oom.during, found.oom.operation) == ("loading the weights and the batch", "input pictures")
    assert (found.oom.shape, found.oom.requested_bytes) == ("[4096,32,32,3]", 4096 * 32 * 32 * 3 * 4)
    assert found.peak_bytes is None


def test_that_two_replicas_are_measured_and_compared_with_the_estimate_for_two_gpus(demo, tracer):
    setup = Setup(batch=2 * BATCH, gpus=2)
    found = measure(demo, setup, Place(), steps=3)
    memory = tracer.memory(setup.step("cpu"))
    both = compare(memory, found)
    assert both is not None
    assert both.replicas == 2
    # One replica alone can't be what was measured, and what is kept between steps is there once for each.
    assert min(both.measured_bytes) > memory.point(BATCH).live_bytes * 1.5
    state = {part.name: part for part in both.terms}[STATE]
    assert state.measured_bytes == pytest.approx(state.estimated_bytes, rel=0.25)
    assert both.low_bytes * 0.8 <= min(both.measured_bytes)
    assert max(both.measured_bytes) <= both.high_bytes
    assert any("share one allocator" in note for note in both.notes)
    timeline = found.runs[0].timeline
    assert timeline is not None
    assert any("replica_1" in origin.operation for origin in timeline.origins)


@pytest.mark.parametrize(("function", "verdict"), [("keeps", Verdict.GROWING), ("clean", Verdict.STEADY)])
def test_that_a_train_step_that_keeps_references_is_told_from_one_that_does_not(function, verdict):
    model = check_model(f"{LEAKING}:{function}")
    found = measure(model, Setup(batch=128), Place(), steps=14)
    grows = worst_leak(found.runs)
    assert grows is not None
    assert grows.verdict is verdict
    if verdict is Verdict.GROWING:
        assert grows.bytes_per_step == pytest.approx(128 * 4 * 4)  # an output of four numbers for each sample
        assert grows.low_bytes > 0
        (kept,) = found.runs[0].grown
        assert (kept.operation, kept.shape) == ("BiasAdd", "[128,4]")
    else:
        assert grows.bytes_per_step == pytest.approx(0, abs=16)
        assert found.runs[0].grown == ()


def test_that_fits_in_one_process_are_measured_too():
    found = measure(check_model(f"{LEAKING}:keeps"), Setup(batch=128), Place(), steps=2, fits=8)
    grows = worst_leak(found.runs)
    assert grows is not None
    assert (grows.verdict, len(found.runs[0].steps)) == (Verdict.GROWING, 8)
    assert grows.bytes_per_step == pytest.approx(2 * 128 * 4 * 4, rel=0.25)  # two batches a fit, and fit's own litter


def test_that_nothing_can_be_measured_on_gpus_that_are_not_there(demo):
    with pytest.raises(SetupError, match="names 2 GPUs, the setup wants 1"):
        measure(demo, SETUP, Place(gpus=(0, 1)))


@pytest.mark.parametrize("limit", [1, 100_000, 4 * MIB - 1])
def test_that_a_limit_below_what_tensorflow_needs_is_refused_at_once(demo, limit):
    with pytest.raises(SetupError, match="too little for TensorFlow itself"):
        measure(demo, SETUP, Place(limit_bytes=limit))


@pytest.mark.parametrize(("setup", "place"), [(Setup(batch=64, gpus=2), Place()), (SETUP, Place(gpus=(0,)))])
def test_that_kernels_one_by_one_are_for_one_replica_on_the_cpu(demo, setup, place):
    with pytest.raises(SetupError, match="for one replica"):
        measure(demo, setup, place, order=Order.INLINE)
