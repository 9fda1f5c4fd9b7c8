"""Which of a plan's devices a script is on, and what its environment becomes."""

import os
import sys
from dataclasses import replace

import pytest
from planning import cpu_entry, plan, rung

from planner_app.core.hardware.machine import Gpu
from planner_app.core.plan.plan import DeviceKind, MemorySettings, PlannedDevice
from planner_app.errors import PlanError
from planner_app.files.plans import write_plan
from planner_app.train import TrainingPlan, load_plan
from planner_app.train.environment import apply_environment
from planner_app.train.machine import pick_entry

GIB = 1 << 30
CPU = cpu_entry(8, 1, 1, 2)


def entry(name: str, total: int = 24 * GIB):
    device = PlannedDevice(name, DeviceKind.GPU, total, (8, 9), total - 2 * GIB)
    return replace(CPU, device=device, memory=MemorySettings(), environment={})


QUEUE = plan(8, entry("NVIDIA L4"), entry("Tesla T4", 16 * GIB), entry("80GiB", 80 * GIB), CPU)


@pytest.mark.parametrize(
    ("gpu", "expected"),
    [
        (Gpu(0, name="Tesla T4"), "Tesla T4"),
        (Gpu(0, name="L4"), "NVIDIA L4"),
        (Gpu(0, name="NVIDIA H100 80GB HBM3", total_bytes=80 * GIB), "80GiB"),
    ],
)
def test_that_a_queue_with_several_kinds_of_gpus_picks_its_entry(gpu, expected):
    assert pick_entry(QUEUE, (gpu,), None).device.name == expected


def test_that_names_are_matched_whole():
    with pytest.raises(PlanError, match="This machine has NVIDIA L40S, and the plan is for NVIDIA L4"):
        pick_entry(QUEUE, (Gpu(0, name="NVIDIA L40S", total_bytes=45 * GIB),), None)


def test_that_without_a_gpu_the_entry_for_the_cpu_is_taken():
    assert pick_entry(QUEUE, (), None).device.name == "cpu"
    with pytest.raises(PlanError, match="shows no GPU"):
        pick_entry(plan(8, entry("NVIDIA L4"), entry("Tesla T4")), (), None)


def test_that_a_device_can_be_named():
    assert pick_entry(QUEUE, (), "nvidia l4").device.name == "NVIDIA L4"
    with pytest.raises(PlanError, match="has no entry for 'L5'"):
        pick_entry(QUEUE, (), "L5")


def test_that_what_the_user_has_set_counts(monkeypatch):
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
    monkeypatch.delenv("TF_CPU_ALLOCATOR_USE_BFC", raising=False)
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    said = apply_environment({"TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPU_ALLOCATOR_USE_BFC": "1"})
    assert said == ["TF_ENABLE_ONEDNN_OPTS is '1' in the environment; the plan was made for '0'."]
    assert os.environ["TF_CPU_ALLOCATOR_USE_BFC"] == "1"
    monkeypatch.delenv("TF_CPU_ALLOCATOR_USE_BFC")


def test_that_a_plan_loaded_after_tensorflow_is_said_to_be_late(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", sys)
    monkeypatch.delenv("TF_GPU_ALLOCATOR", raising=False)
    (said,) = apply_environment({"TF_GPU_ALLOCATOR": "cuda_malloc_async"})
    assert "TensorFlow was imported before the plan was loaded" in said
    monkeypatch.delenv("TF_GPU_ALLOCATOR")


def test_that_another_backend_is_refused(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    with pytest.raises(PlanError, match="the plan is for TensorFlow"):
        apply_environment({"KERAS_BACKEND": "tensorflow"})


def test_that_a_plan_starts_on_the_rung_that_is_asked_for(tmp_path, monkeypatch):
    for name in CPU.environment:
        monkeypatch.setenv(name, CPU.environment[name])
    write_plan(tmp_path / "p.json", plan(8, CPU))
    found = load_plan(tmp_path / "p.json", rung=1)
    assert (found.rung, found.per_gpu_batch, found.accumulate, found.global_batch) == (1, 4, 2, 8)
    assert found.compile_options() == {"jit_compile": False}
    with pytest.raises(PlanError, match="There is no rung 2: cpu has 2 in this plan"):
        load_plan(tmp_path / "p.json", rung=2)
    with pytest.raises(PlanError, match="last rung"):
        found.descend()


def test_that_too_little_free_memory_is_said_with_the_rung_that_would_fit():
    from planner_app.train.checks import _device  # check() itself asks TensorFlow for its version

    rungs = (rung(8, 1, 1, 10 * GIB), rung(8, 1, 2, 3 * GIB))
    gpu = Gpu(0, name="NVIDIA L4", free_bytes=4 * GIB)
    training = TrainingPlan(QUEUE, replace(entry("NVIDIA L4"), rungs=rungs), gpus=(gpu,))
    (said,) = _device(training)
    assert "GPU 0 (NVIDIA L4) has 4.00 GiB free, and the plan needs 10.0 GiB" in said
    assert "Rung 1 would fit (4 samples at a time, float32, 3.00 GiB): load_plan(..., rung=1)" in said
