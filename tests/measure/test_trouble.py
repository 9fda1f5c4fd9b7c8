"""Whatever happens to the process that measures: one clear end, nothing left, and what was measured is kept."""

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from nvml_library import COMPILER, Standin
from processes import Children

from planner_app.core.hardware.machine import Driver, Gpu, Health, Machine
from planner_app.core.measure.measurement import Place
from planner_app.core.model.setup import Setup
from planner_app.errors import Cancelled, DeviceError, PlannerError, WorkerError
from planner_app.jobs.protocol import Measure, Progress
from planner_app.planner.measuring.measure import CutShort, measure, run_process

SETUP = Setup(batch=4)
PATIENCE_SECONDS = 5.0  # at once, on a machine that others use too
EARLY = ("importing TensorFlow", "building the model")
LATE = "step 3 of "


def at(stage: str, do: Callable[[], None]) -> Callable[[Progress], None]:
    """Does something once when a stage is reached."""
    done: list[bool] = []

    def hear(event: Progress) -> None:
        if stage in event.text and not done:
            done.append(True)
            do()

    return hear


@pytest.fixture
def kill(children: Children) -> Callable[[], None]:
    def kill() -> None:
        for child in children():
            child.send_signal(signal.SIGKILL)

    return kill


@pytest.mark.parametrize("stage", EARLY)
def test_that_a_process_killed_before_its_first_step_is_one_clear_error(children, kill, demo, scratch, stage):
    with pytest.raises(WorkerError, match=r"killed by signal 9 \(SIGKILL\)"):
        measure(demo, SETUP, Place(), on_progress=at(stage, kill))
    assert children() == []
    assert list(scratch.iterdir()) == []


def test_that_of_a_process_killed_later_the_steps_are_kept(children, kill, demo, scratch):
    found = measure(demo, SETUP, Place(), steps=200, on_progress=at(LATE, kill))
    assert "killed by signal 9 (SIGKILL)" in found.ended
    (run,) = found.runs
    assert run.ended == found.ended
    assert len(run.steps) >= 2
    assert found.peak_bytes
    assert children() == []
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("stage", EARLY[:1])
def test_that_cancelling_answers_at_once_with_nothing_to_keep(children, demo, stage):
    cancelled, asked = threading.Event(), []

    def cancel() -> None:
        asked.append(time.monotonic())
        cancelled.set()

    with pytest.raises(Cancelled):
        measure(demo, SETUP, Place(), on_progress=at(stage, cancel), cancelled=cancelled)
    assert time.monotonic() - asked[0] < PATIENCE_SECONDS
    assert children() == []


def test_that_cancelling_between_steps_keeps_them_and_answers_at_once(children, demo, scratch):
    cancelled, asked = threading.Event(), []

    def cancel() -> None:
        asked.append(time.monotonic())
        cancelled.set()

    found = measure(demo, SETUP, Place(), steps=500, on_progress=at(LATE, cancel), cancelled=cancelled)
    assert time.monotonic() - asked[0] < PATIENCE_SECONDS
    assert found.ended == "Cancelled."
    assert len(found.runs[0].steps) >= 2
    assert children() == []
    assert list(scratch.iterdir()) == []


@pytest.fixture
def nvml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Standin:
    if COMPILER is None:
        pytest.skip("no C compiler, which makes the stand-in for NVIDIA's library")
    standin = Standin(tmp_path)
    for name, value in standin.environment.items():
        monkeypatch.setenv(name, value)
    return standin


def test_that_a_gpu_that_vanishes_ends_the_measurement_with_a_sentence_and_keeps_its_steps(
    children, demo, nvml, scratch
):
    """The steps run on the CPU, beside a GPU of the stand-in that falls off the bus."""
    nvml.says("gpus 2")
    request = Measure(model=demo, setup=SETUP, place=Place(), steps=500, watch=("GPU-0001",))
    with pytest.raises(CutShort, match="GPU 1 has fallen off the bus") as cut:
        run_process(request, at(LATE, lambda: nvml.says("gpus 2", "fail 1 15")))
    assert isinstance(cut.value.cause, DeviceError)
    steps = cut.value.run.steps
    assert len(steps) >= 2
    used = steps[-1].gpus[0]
    assert used.used_bytes == 1 << 30
    assert used.energy_joules is not None
    assert used.energy_joules > 0
    assert children() == []
    assert list(scratch.iterdir()) == []


def test_that_a_gpu_that_tensorflow_does_not_find_is_reported_to_lack_its_libraries(demo):
    machine = Machine(Driver.FINE, gpus=(Gpu(0, name="NVIDIA L4", uuid="GPU-0000"),))
    with pytest.raises(DeviceError, match=r"TensorFlow finds 0 of the 1 GPUs .*plimsoll\[cuda\]"):
        measure(demo, SETUP, Place(gpus=(0,)), machine=machine)


@pytest.mark.parametrize(
    ("machine", "index", "words"),
    [
        (Machine(Driver.MISSING, "This machine has no NVIDIA driver: ..."), 0, "no NVIDIA driver"),
        (Machine(Driver.FINE, "The NVIDIA driver is running, but finds no GPU."), 0, "finds no GPU"),
        (Machine(Driver.FINE, gpus=(Gpu(0), Gpu(1))), 2, "There is no GPU 2: this machine's are 0 to 1"),
        (Machine(Driver.FINE, gpus=(Gpu(0),)), 1, "this machine has one, gpu:0"),
        (Machine(Driver.FINE, gpus=(Gpu(0, Health.LOST, "GPU 0 has fallen off the bus."),)), 0, "fallen off"),
        (Machine(Driver.FINE, gpus=(Gpu(0, mig=True),)), 0, "has no slices yet"),
    ],
)
def test_that_a_gpu_that_can_not_be_used_is_refused_before_a_process_starts(demo, machine, index, words):
    with pytest.raises(PlannerError, match=words):
        measure(demo, SETUP, Place(gpus=(index,)), machine=machine)
