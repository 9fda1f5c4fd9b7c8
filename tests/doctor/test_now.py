"""This machine instead of a log."""

import os
import subprocess
import sys
import time

import pytest

from planner_app.cli import main
from planner_app.core.doctor.moment import HostMemory, Look, Process, growth, now
from planner_app.core.hardware.machine import Driver, Gpu, GpuProcess, Machine
from planner_app.files.processes import host_memory, processes
from planner_app.planner.watch import look

GIB = 1 << 30
MACHINE = Machine(
    Driver.FINE,
    gpus=(
        Gpu(
            0,
            name="NVIDIA L4",
            total_bytes=24 * GIB,
            free_bytes=2 * GIB,
            used_bytes=22 * GIB,
            processes=(GpuProcess(7, 5 * GIB), GpuProcess(8, 15 * GIB), GpuProcess(9, GIB, "somebody")),
        ),
    ),
)


def looked(seconds: float, resident: int) -> Look:
    known = (Process(7, "python train.py", "ann", resident), Process(8, "python other.py", "bob", 3 * GIB))
    return Look(seconds, MACHINE, HostMemory(64 * GIB, 8 * GIB), known)


def test_that_it_is_told_who_holds_which_gpus_memory():
    gpu = now(looked(0, GIB))[0]
    assert gpu.title == "GPU 0: NVIDIA L4"
    assert [row[:2] for row in gpu.rows] == [
        ("process 8", "15.0 GiB"),
        ("process 7", "5.00 GiB"),
        ("process 9", "1.00 GiB"),
        ("the rest", "1.00 GiB"),
        ("free", "2.00 GiB"),
    ]
    assert [row[2] for row in gpu.rows[:3]] == ["python other.py, bob", "python train.py, ann", "somebody"]


def test_that_steady_growth_is_told_from_ups_and_downs():
    grows = [looked(10.0 * step, GIB + step * (64 << 20)) for step in range(7)]
    wavers = [looked(10.0 * step, GIB + (step % 2) * (64 << 20)) for step in range(8)]
    assert "grew steadily, by 384 MiB a minute" in growth(grows, 7).sentences[0]
    assert "last about 21 minutes" in growth(grows, 7).sentences[0]
    assert growth(wavers, 7).sentences[0] == "Nothing grew steadily."
    assert "can't be seen from outside" in growth(grows, 7).sentences[-1]


def test_that_nothing_is_foretold_from_a_few_seconds():
    grows = [looked(step, GIB + step * (64 << 20)) for step in range(7)]
    said = growth(grows, 7).sentences[0]
    assert "grew by 384 MiB: a longer watch tells" in said and "steadily" not in said


def test_that_a_process_counts_with_its_children_and_without_its_secrets():
    code = "import time; kept = bytearray(60 << 20); time.sleep(60)"
    environment = {**os.environ, "TF_GPU_ALLOCATOR": "cuda_malloc_async", "SECRET_TOKEN": "abc"}
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])",
            "--key=abc",
        ],
        env=environment,
    )
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = processes([parent.pid], with_children=parent.pid)[0]
            if found.resident_bytes > 60 << 20 and found.children:
                break
            time.sleep(0.1)
        assert found.resident_bytes > 60 << 20
        assert found.settings == {"TF_GPU_ALLOCATOR": "cuda_malloc_async"}
        assert "abc" not in found.name
        assert look(parent.pid).process(parent.pid) is not None
    finally:
        for child in processes([parent.pid], with_children=parent.pid)[0].children:
            os.kill(child, 9)
        parent.kill()
        parent.wait()


def test_that_the_machine_tells_its_memory():
    host = host_memory()
    assert 0 < host.available_bytes < host.total_bytes


def test_that_the_command_shows_this_machine(capsys):
    assert main(["doctor", "--now", "--seconds", "0"]) == 0
    out = capsys.readouterr().out
    assert "The machine's own memory" in out and "available" in out
    assert main(["doctor", "--pid", str(os.getpid()), "--seconds", "0.3", "--json"]) == 0
    assert f'"Process {os.getpid()}' in capsys.readouterr().out


def test_that_a_number_is_a_process_unless_a_log_is_called_so(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", str(os.getpid()), "--seconds", "0"]) == 0
    assert f"Process {os.getpid()}" in capsys.readouterr().out
    (tmp_path / str(os.getpid())).write_text("Killed\n")
    assert main(["doctor", str(os.getpid())]) == 0
    assert "SIGKILL" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--pid", "99999999"], ["99999999"], []])
def test_that_what_is_not_there_gets_a_sentence(capsys, arguments):
    assert main(["doctor", *arguments]) == 1
    assert capsys.readouterr().err.startswith("plimsoll: ")
