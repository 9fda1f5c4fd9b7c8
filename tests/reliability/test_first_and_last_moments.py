"""How commands start and end: with closed streams, pipes without a writer, signals at any moment."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from surroundings import DEMO, ROOT, one_line

from planner_app import cli
from planner_app.errors import PlannerError

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
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    line = f"{sys.executable} -m planner_app {command}"
    return subprocess.run(
        ["sh", "-c", line], env={**ENVIRONMENT, **environment}, capture_output=True, text=True, timeout=120, check=False
    )


def has_begun(child: subprocess.Popen[str]) -> bool:
    """Our own code runs: it handles SIGTERM, which Python by itself does not."""
    status = Path(f"/proc/{child.pid}/status").read_text()
    caught = int(next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")), 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to know when the command has begun")
@pytest.mark.parametrize("seconds", [0, 0.05, 0.2, 0.5, 1])
def test_that_ctrl_c_at_any_moment_is_130_and_nothing_else(seconds, tmp_path):
    child = start("estimate", DEMO, "--batch", "8", TMPDIR=str(tmp_path), PLIMSOLL_CACHE=str(tmp_path / "cache"))
    until = time.monotonic() + 60
    while not has_begun(child) and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(seconds)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said) == (130, "")
    assert list(tmp_path.glob("plimsoll-worker-*")) == []


def test_that_nothing_is_imported_before_ctrl_c_is_heard():
    """Until then it is Python's own traceback: each import makes that moment longer."""
    code = "import sys; before = {*sys.modules}; import planner_app.__main__; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["planner_app", "planner_app.__main__"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_that_a_command_that_is_ended_leaves_no_folder_behind(number, tmp_path):
    child = start("estimate", DEMO, "--batch", "8", TMPDIR=str(tmp_path), PLIMSOLL_CACHE=str(tmp_path / "cache"))
    until = time.monotonic() + 60
    while not list(tmp_path.glob("plimsoll-worker-*/home")) and time.monotonic() < until:
        time.sleep(0.02)
    child.send_signal(number)
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said) == (128 + number, "")
    assert list(tmp_path.glob("plimsoll-worker-*")) == []


SWALLOWS = """
import os, signal
try:
    os.kill(os.getpid(), signal.SIGTERM)
    for _ in range(1000): pass
except BaseException:
    print("it goes on with half a module")
"""


def test_that_a_library_that_swallows_the_end_in_an_import_does_not_keep_a_command_going(tmp_path):
    (tmp_path / "swallows.py").write_text(SWALLOWS)
    code = "from planner_app import __main__, cli; cli.main = lambda: __import__('swallows') and 0; __main__.main()"
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{ROOT}:{tmp_path}"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, "", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_that_an_app_that_is_ended_says_by_what(number, tmp_path):
    child = start(DEMO, "--picture", tmp_path / "app.png", TMPDIR=str(tmp_path), PLIMSOLL_CACHE=str(tmp_path / "cache"))
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


@pytest.mark.parametrize("raised", [ImportError("numpy could not be imported"), PlannerError("The worker ended.")])
def test_that_ctrl_c_is_130_whatever_a_library_makes_of_it(raised, monkeypatch, capsys):
    def run(_options):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise raised from None

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    command = SimpleNamespace(run=run, HELP="", add=lambda _parser: None, __doc__="")
    monkeypatch.setattr(cli, "_command", lambda _name: command)
    try:
        assert cli.main(["devices"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("command", ["script", "doctor"])
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_that_a_device_is_not_read_as_a_file(command, device, tmp_path):
    (tmp_path / "link").symlink_to(device)
    done = shell(f"{command} {tmp_path / 'link'}")
    assert done.returncode == 1
    assert "it is a device, not a file" in one_line(done.stderr)


def test_that_a_log_can_come_through_a_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["sh", "-c", f"echo Killed > {tmp_path / 'pipe'}"]) as writer:
        assert "SIGKILL" in shell(f"doctor {tmp_path / 'pipe'}").stdout
    assert writer.returncode == 0


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


@pytest.mark.parametrize("name", ["x" * 300, "y/" * 3000])
def test_that_a_name_too_long_for_a_file_is_a_sentence(name, capsys):
    assert cli.main(["plan", str(DEMO), "--batch", "8", "--device", "24GiB", "--output", name]) == 1
    assert "too long for a file name" in one_line(capsys.readouterr().err)
    with pytest.raises(SystemExit) as ended:  # not a command, and not a model either
        cli.main([name])
    assert ended.value.code == 2


@pytest.mark.parametrize("batch", ["99999999999999999999", "2147483648", "0", "-1"])
def test_that_an_absurd_batch_is_a_sentence(batch):
    done = shell(f"estimate {DEMO} --batch {batch}")
    assert done.returncode in (1, 2)
    assert "a bug in" not in done.stderr
