"""What planning requires from a computer; everything else is a note."""

import tomllib
from dataclasses import replace
from pathlib import Path

from planner_app.core.checkup import (
    KERAS,
    PYTHONS,
    TENSORFLOW,
    Folder,
    Screen,
    Seen,
    Started,
    State,
    Surroundings,
    can_plan,
    checkup,
    summary,
)
from planner_app.core.hardware.machine import Driver, Gpu, Health, Machine

GIB = 1 << 30
ALONE = Machine(Driver.MISSING, "This machine has no NVIDIA driver.")
TWO = Machine(
    Driver.FINE,
    driver_version="570.86.15",
    cuda_version="12.8",
    gpus=(
        Gpu(0, name="NVIDIA L4", total_bytes=24 * GIB, free_bytes=20 * GIB),
        Gpu(1, Health.LOST, "GPU 1 has fallen off the bus."),
    ),
)
FINE = Seen(
    machine=TWO,
    screen=Screen("6.11.3", "xcb"),
    folders=(
        Folder("Temporary folder", "/tmp", "TMPDIR", free_bytes=50 * GIB, needed=True),
        Folder("Cache", "/cache", "PLIMSOLL_CACHE", free_bytes=40 * GIB),
    ),
    surroundings=Surroundings("3.12.1", "/bin/python", {"tensorflow": "2.21.0", "keras": "3.15.1", "jax": "0.10.2"}),
    started=Started("2.21.0", "12.5.1", "9", gpus=1),
    sandbox=("no network (seccomp)",),
)


def found(seen: Seen, name: str) -> tuple[State, str]:
    (finding,) = [each for each in checkup(seen) if each.name == name]
    return finding.state, finding.text


def test_that_a_computer_that_has_everything_is_green_but_for_its_broken_gpu():
    findings = checkup(FINE)
    assert [each.name for each in findings if each.state is not State.FINE] == ["GPU 1"]
    assert found(FINE, "GPU 0") == (State.FINE, "NVIDIA L4, 24.0 GiB, 20.0 GiB free")
    assert found(FINE, "CUDA")[1] == "TensorFlow is built for CUDA 12.5.1 and cuDNN 9, and sees 1 GPU"
    assert found(FINE, "Free disk") == (State.FINE, "40 GiB")
    assert can_plan(findings)
    assert (
        summary(findings) == f"Everything that planning needs is installed; 1 of {len(findings)} checks need attention."
    )


def test_that_a_missing_gpu_is_not_an_error():
    seen = replace(FINE, machine=ALONE, started=Started("2.21.0", "12.5.1", "9"))
    assert found(seen, "NVIDIA driver") == (State.NOTE, f"{ALONE.sentence} Planning works without it.")
    assert found(seen, "CUDA")[0] is State.FINE
    assert can_plan(checkup(seen))


def test_that_gpus_tensorflow_does_not_see_ask_for_its_libraries():
    state, text = found(replace(FINE, started=Started("2.21.0", "12.5.1", "9", gpus=0)), "CUDA")
    assert state is State.NOTE
    assert 'pip install "plimsoll[cuda]"' in text


def test_that_planning_needs_tensorflow_and_keras():
    without = Surroundings("3.12.1", "/bin/python", {})
    seen = replace(FINE, surroundings=without, started=None)
    for name in ("TensorFlow", "Keras"):
        state, text = found(seen, name)
        assert state is State.MISSING
        assert 'pip install "plimsoll[tensorflow]"' in text
    assert not can_plan(checkup(seen))
    assert summary(checkup(seen)) == "Planning does not work yet: TensorFlow, Keras."


def test_that_a_tensorflow_that_can_t_start_says_why():
    seen = replace(FINE, started=None, started_trouble="The worker was killed by signal 4.")
    state, text = found(seen, "TensorFlow")
    assert state is State.MISSING
    assert "2.21.0 is installed but can't be used (The worker was killed by signal 4)" in text


def test_that_a_python_that_does_not_answer_is_reported_once_and_the_rest_is_unknown():
    seen = replace(FINE, surroundings=None, surroundings_trouble="The worker could not be started.", started=None)
    assert found(seen, "Python") == (State.MISSING, "The worker could not be started.")
    assert found(seen, "Sandbox")[0] is State.NOTE


def test_that_another_release_is_a_note_and_another_python_is_not_enough():
    packages = {"tensorflow": "2.20.0", "keras": "3.15.1"}
    seen = replace(FINE, surroundings=Surroundings("3.10.4", "/bin/python", packages), started=Started("2.20.0"))
    assert found(seen, "TensorFlow")[0] is State.NOTE
    assert found(seen, "Python") == (
        State.MISSING,
        "/bin/python is Python 3.10.4: install Python 3.11 to 3.13.",
    )


def test_that_only_the_folder_of_workers_is_needed():
    spoilt = tuple(replace(folder, trouble="permission denied") for folder in FINE.folders)
    seen = replace(FINE, folders=spoilt)
    assert found(seen, "Temporary folder")[0] is State.MISSING
    state, text = found(seen, "Cache")
    assert state is State.NOTE
    assert "/cache can't be written (permission denied)" in text
    assert "PLIMSOLL_CACHE" in text


def test_that_low_disk_space_is_reported_with_the_folder():
    scarce = replace(FINE.folders[1], free_bytes=GIB // 4)
    state, text = found(replace(FINE, folders=(FINE.folders[0], scarce)), "Free disk")
    assert (state, text) == (State.NOTE, "0.25 GiB are left for /cache: free at least 1 GiB.")


def test_that_the_commands_do_not_need_the_window():
    for screen in (Screen(), Screen("6.11.3"), Screen("6.11.3", trouble='could not load the plugin "xcb"')):
        state, text = found(replace(FINE, screen=screen), "Window")
        assert state is State.NOTE
        assert "commands" in text


def test_that_an_incomplete_sandbox_is_reported():
    state, text = found(replace(FINE, unguarded=("files are not guarded: no Landlock",)), "Sandbox")
    assert state is State.NOTE
    assert "no Landlock" in text


def test_that_the_releases_are_those_that_are_installed():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    wanted = " ".join(project["optional-dependencies"]["tensorflow"])
    assert f"tensorflow>={TENSORFLOW}" in wanted
    assert f"keras>={KERAS}" in wanted
    (_, least), (_, most) = PYTHONS
    assert project["requires-python"].startswith(f">=3.{least},<3.{most + 1}")
