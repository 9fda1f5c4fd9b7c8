"""How commands start and end: with closed streams, pipes without a writer, signals at any moment."""

import json
import os
import signal
import stat
import subprocess
import sys
import time

import pytest
from surroundings import DEMO, ROOT, one_line

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def start(*words: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "planner_app", *map(str, words)],
        env={**ENVIRONMENT, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )


def heed_signals() -> None:
    """As a shell's own commands do, even where this run is itself in the background (nohup)."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    line = f"{sys.executable} -m planner_app {command}"
    return subprocess.run(
        ["sh", "-c", line], env={**ENVIRONMENT, **environment}, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("seconds", [0.12, 0.2, 0.3, 0.5, 0.8])
def test_that_ctrl_c_at_any_moment_is_130_and_nothing_else(seconds, tmp_path):
    child = start("estimate", DEMO, "--batch", "8", TMPDIR=str(tmp_path), PLIMSOLL_CACHE=str(tmp_path / "cache"))
    time.sleep(seconds)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    if child.returncode == -signal.SIGINT or "lib/python" in said.partition("planner_app")[0]:
        pytest.skip("Python itself had not started yet")
    assert (child.returncode, said) == (130, "")
    assert list(tmp_path.glob("plimsoll-worker-*")) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_that_a_command_that_is_ended_leaves_no_folder_behind(number, tmp_path):
    child = start("estimate", DEMO, "--batch", "8", TMPDIR=str(tmp_path), PLIMSOLL_CACHE=str(tmp_path / "cache"))
    until = time.monotonic() + 60
    while not list(tmp_path.glob("plimsoll-worker-*/home")) and time.monotonic() < until:
        time.sleep(0.02)
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said) == (128 + number, "")
    assert list(tmp_path.glob("plimsoll-worker-*")) == []


def test_that_a_cancelled_measurement_is_130_as_everything_cancelled(tmp_path):
    words = ("measure", DEMO, "--batch", "8", "--on", "cpu")
    child = start(*words, TMPDIR=str(tmp_path))
    until = time.monotonic() + 60
    while not list(tmp_path.glob("plimsoll-worker-*/home")) and time.monotonic() < until:
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130


def test_that_standard_input_that_is_closed_is_a_sentence():
    done = shell("doctor - <&-")
    assert done.returncode == 1
    assert "Standard input is closed" in one_line(done.stderr)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_that_closed_streams_do_not_become_other_files(closed):
    assert shell(f"describe {DEMO} {closed}").returncode == 0


def test_that_a_width_of_nought_still_shows_the_table():
    assert "parameters" in shell(f"describe {DEMO}", COLUMNS="0").stdout


@pytest.mark.parametrize("command", ["script", "check", "doctor", "devices --import-prices"])
def test_that_a_pipe_without_a_writer_is_not_waited_for(command, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = shell(f"{command} {tmp_path / 'pipe'}")
    assert done.returncode == 1
    assert "nothing is writing to it" in one_line(done.stderr)


def test_that_a_plan_can_come_through_a_pipe(tmp_path):
    plan = tmp_path / "demo.plan.json"
    assert shell(f"plan {DEMO} --batch 8 --device 24GiB --output {plan}").returncode == 0
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m planner_app script <(sleep 0.3; cat {plan})"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "load_plan" in done.stdout, done.stderr
    assert stat.S_IMODE(plan.stat().st_mode) == 0o600
    plan.chmod(0o644)
    assert shell(f"plan {DEMO} --batch 8 --device 24GiB --output {plan}").returncode == 0
    assert stat.S_IMODE(plan.stat().st_mode) == 0o644


def test_that_what_is_kept_only_its_owner_can_read(tmp_path):
    done = shell(f"estimate {DEMO} --batch 8 --json", PLIMSOLL_CACHE=str(tmp_path / "cache"))
    assert json.loads(done.stdout)
    kept = list((tmp_path / "cache").iterdir())
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


@pytest.mark.parametrize("batch", ["99999999999999999999", "2147483648", "0", "-1"])
def test_that_an_absurd_batch_is_a_sentence(batch):
    done = shell(f"estimate {DEMO} --batch {batch}")
    assert done.returncode in (1, 2)
    assert "a bug in" not in done.stderr
