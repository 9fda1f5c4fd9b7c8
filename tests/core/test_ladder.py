"""Plans from the memory of steps that are written by hand, so that every peak can be worked out."""

from dataclasses import replace

import pytest
from steps import Step

from planner_app.core.estimate.need import Needs
from planner_app.core.hardware.device import cpu_device, custom_device
from planner_app.core.measure.calibration import Calibration, Sample
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Precision, Setup, StepSetup
from planner_app.core.model.trace import Role, Size
from planner_app.core.plan.ladder import DoesNotFit, PlanRequest, accumulations, needed_steps, plan_of
from planner_app.core.plan.plan import MemorySettings
from planner_app.core.replay.memory import Memory

MIB = 1 << 20
MODEL = CheckedModel("tiny", "keras", {}, sha256="ab" * 32)
WHEN = "2026-11-16T05:00:00Z"


def step_of(setup: StepSetup) -> Memory:
    """1 MiB of weights, 1 MiB for each sample (half of it in mixed precision), and 2 MiB of sums if it accumulates."""
    step = Step()
    weight = step.variable(MIB)
    if setup.accumulates:
        step.variable(2 * MIB, Role.OPTIMIZER)
    step.variable(Size(0, 64), Role.INPUT)
    sample = MIB // 2 if setup.precision is Precision.MIXED_FLOAT16 else MIB
    read = step.read(weight)
    kept = step.make("MatMul", read, size=Size(0, sample))
    step.make("Sum", kept, size=4)
    return Memory(step.trace(layers=(("norm", "BatchNormalization"),)), setup)


def measured(ratio: float):
    """One measurement, so many times its estimate, of steps that are not compiled."""
    sample = Sample("tiny", "", "batch 8", WHEN, 1000, (round(1000 * ratio),))
    calibration = Calibration("cpu", "2.21.0", "3.15.1", False, (sample,))
    return lambda device, xla, backend: calibration if device.name == "cpu" and not xla else None


def planned(batch: int, *, limit: int | None = None, gpus: int = 1, accumulate: int = 1, ratio: float = 0.0, **more):
    device = cpu_device(limit)
    request = PlanRequest(Setup(batch=batch, gpus=gpus, accumulate=accumulate), (device,), **more)
    memories = {setup: step_of(setup) for setup in needed_steps(request)}
    needs = Needs(memories, measured(ratio)) if ratio else Needs(memories)
    return plan_of(MODEL, needs, request, file="tiny.keras", created=WHEN, versions={"plimsoll": "1"})


def rungs(plan) -> list[tuple[int, int]]:
    return [(rung.per_gpu_batch, rung.accumulate) for rung in plan.devices[0].rungs]


def test_that_every_rung_has_the_same_batch_and_needs_less():
    plan = planned(64)
    assert rungs(plan) == [(64, 1), (32, 2), (16, 4), (8, 8), (4, 16), (2, 32)]
    peaks = [rung.peak.expected_bytes for rung in plan.devices[0].rungs]
    assert peaks == sorted(peaks, reverse=True)
    assert all(rung.per_gpu_batch * rung.accumulate == 64 for rung in plan.devices[0].rungs)
    assert peaks[0] // MIB == 65  # the weights and 64 samples
    assert peaks[1] // MIB in (35, 36)  # the sums besides, 32 samples, and what loading left between them


def test_that_the_first_rung_is_the_first_that_fits():
    plan = planned(64, limit=21 * MIB)
    assert rungs(plan)[0] == (16, 4)
    assert "does not fit at once: train it 16 at a time in 4 steps" in plan.warnings[0]


def test_that_calibrations_count_and_are_mentioned():
    """32 at a time take 35 MiB by the estimate, and 44 where a quarter more was measured: only 16 fit into 40."""
    plain, calibrated = planned(64, limit=40 * MIB), planned(64, limit=40 * MIB, ratio=1.25)
    assert (rungs(plain)[0], rungs(calibrated)[0]) == ((32, 2), (16, 4))
    before = {rung.per_gpu_batch: rung.peak.expected_bytes for rung in plain.devices[0].rungs}
    assert all(
        rung.peak.expected_bytes == round(1.25 * before[rung.per_gpu_batch]) for rung in calibrated.devices[0].rungs
    )
    said = "Calibrated with one measurement on cpu, the last of 2026-11-16: +25.0% against the estimate alone."
    assert said in calibrated.warnings
    assert said not in plain.warnings


def test_that_accumulation_is_not_a_fallback_if_its_sums_cost_more_than_it_saves():
    """Two samples take 3 MiB at once; one at a time takes 4."""
    assert rungs(planned(2)) == [(2, 1)]


def test_that_a_lower_precision_comes_last_and_only_if_it_is_allowed():
    plan = planned(4, precisions=(Precision.MIXED_BFLOAT16,))
    assert [str(rung.precision) for rung in plan.devices[0].rungs] == ["float32"] * 2 + ["mixed_bfloat16"] * 2
    # 5 and 4.5 MiB, then a mebibyte less each; with 2 at a time the sums cost what the samples save.
    assert rungs(plan) == [(4, 1), (1, 4)] * 2
    with pytest.raises(DoesNotFit):
        planned(4, limit=3 * MIB)


def test_that_what_does_not_fit_says_how_much_is_missing():
    with pytest.raises(
        DoesNotFit, match=r"A batch of 64 does not fit cpu: .* needs 4\.\d+ MiB, but TensorFlow gets 1\.00 MiB"
    ):
        planned(64, limit=MIB)


def test_that_a_limit_of_the_users_counts():
    device = custom_device("24GiB", 24 << 30, (8, 9))
    request = PlanRequest(Setup(batch=64), (device,), memory=MemorySettings(limit_bytes=40 * MIB))
    memories = {setup: step_of(setup) for setup in needed_steps(request)}
    entry = plan_of(MODEL, Needs(memories), request, file="m", created=WHEN, versions={}).devices[0]
    assert entry.device.capacity_bytes == 40 * MIB
    assert entry.rungs[0].per_gpu_batch == 32
    assert entry.environment == {"KERAS_BACKEND": "tensorflow", "TF_FORCE_GPU_ALLOW_GROWTH": "false"}


def test_that_a_device_that_does_not_fit_is_left_out_and_reported():
    request = PlanRequest(Setup(batch=64), (cpu_device(MIB), replace(cpu_device(), name="large")))
    memories = {setup: step_of(setup) for setup in needed_steps(request)}
    plan = plan_of(MODEL, Needs(memories), request, file="m", created=WHEN, versions={})
    assert [entry.device.name for entry in plan.devices] == ["large"]
    assert "does not fit cpu" in plan.warnings[0]


def test_that_a_plan_knows_its_model_and_its_input():
    plan = planned(64)
    assert (plan.model.parameters, plan.model.weights) == (MIB // 4, 1)
    assert plan.input.sample_bytes == 64
    assert plan.input.host_bytes == 64 * 64 * 3  # two batches ahead, one in the making
    assert "Batch normalisation (1 layers, the first is norm)" in plan.warnings[-1]


@pytest.mark.parametrize(
    ("batch", "gpus", "start", "expected"),
    [
        (64, 1, 1, [1, 2, 4, 8, 16, 32, 64]),
        (96, 1, 1, [1, 2, 4, 8, 16, 32, 48, 96]),
        (30, 2, 1, [1, 3, 5, 15]),
        (7, 1, 1, [1, 2, 4, 7]),
        (7, 2, 1, [1, 2]),
        (5, 5, 1, [1]),
        (100, 1, 5, [5, 10, 20, 50, 100]),
    ],
)
def test_that_steps_share_the_batch_out_evenly_where_they_can(batch, gpus, start, expected):
    found = accumulations(Setup(batch=batch, gpus=gpus, accumulate=start))
    assert found == expected
    assert all(batch >= gpus * steps for steps in found)
