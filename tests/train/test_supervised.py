"""Training that is ended in the middle by what no process survives, under `plimsoll run`: real processes, real ends."""

import sys
from pathlib import Path
from typing import Any

import pytest
from disturbances import CLOSE, Outcome, far, finished, run, started, wrong

from planner_app.errors import PlanError
from planner_app.train import supervise
from planner_app.train.recover.deaths import End, death_of

UPDATES = 18
OOM = "OOM when allocating tensor with shape[8]"
TRACE = "Traceback (most recent call last):\n  File 'train.py', line 3\n"
DURING = "During handling of the above exception, another exception occurred:"
CASES = ["XLA, second epoch", "killed", "plain, in validation"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    folder = tmp_path_factory.mktemp("runs")
    children = {name: started(folder, name) for name in ("undisturbed", *CASES)}
    return {name: finished(folder, name, child) for name, child in children.items()}


@pytest.mark.parametrize("case", CASES)
def test_that_a_disturbed_run_ends_as_an_undisturbed_one(runs, case):
    calm = runs["undisturbed"]
    assert (calm.said["updates"], calm.said["epochs"]) == (UPDATES, [0, 1, 2])
    assert wrong(case, calm, runs[case]) == []


def test_that_what_xla_does_not_survive_goes_on_with_the_next_rung(runs):
    found = runs["XLA, second epoch"]
    assert [(each["rung"], each["end"]) for each in found.report["tries"]] == [(0, "memory"), (1, "finished")]
    assert found.report["tries"][0]["code"] in (1, 134)  # an error, or SIGABRT where XLA has no way back
    assert found.report["finished"]
    assert found.said["rung"] == 1


def test_that_a_killed_process_goes_on_with_the_same_rung_and_trains_nothing_twice(runs):
    found = runs["killed"]
    assert [(each["rung"], each["end"]) for each in found.report["tries"]] == [(0, "killed"), (0, "finished")]
    processes = list(dict.fromkeys(process for process, _ in found.updates))
    assert len(processes) == 2
    second = [update for process, update in found.updates if process == processes[1]]
    assert second == list(range(found.report["tries"][0]["updates"] + 1, UPDATES + 1))


def test_that_plain_steps_go_on_in_the_same_process(runs):
    found = runs["plain, in validation"]
    assert [each["end"] for each in found.report["tries"]] == ["finished"]
    assert found.said["rung"] == 1


def test_that_two_hosts_agree_on_the_rung_when_one_runs_out_of_memory(tmp_path, runs):
    first, second = run(tmp_path, "two hosts, second epoch")
    for found in (first, second):
        assert [(each["rung"], each["end"]) for each in found.report["tries"]] == [(0, "memory"), (1, "finished")]
        assert found.said["updates"] == UPDATES
        assert far(runs["undisturbed"], found) < CLOSE


def test_that_an_error_of_the_script_is_not_tried_again(tmp_path, runs_of):
    report = runs_of(tmp_path, "raise ValueError('a mistake')")
    assert (len(report.tries), report.code, report.finished) == (1, 1, False)
    assert "a mistake" in report.reason


def test_that_tries_and_rungs_are_bounded(tmp_path, runs_of):
    report = runs_of(tmp_path, "import os; os.abort()")
    assert [each.rung for each in report.tries] == [0, 1]
    assert report.code == 3
    killed = runs_of(tmp_path / "b", "import os; os.kill(os.getpid(), 9)", tries=3)
    assert [each.rung for each in killed.tries] == [0, 0, 0]
    assert killed.code == 137
    with pytest.raises(PlanError, match="tries must be a positive integer, got 0"):
        runs_of(tmp_path / "c", "", tries=0)


def test_that_a_run_that_was_interrupted_itself_goes_on(tmp_path, runs_of):
    text = "import os, pathlib; p = pathlib.Path('n'); p.write_text('x' + (p.read_text() if p.exists() else ''))"
    first = runs_of(tmp_path, f"{text}; os.kill(os.getpid(), 9)", tries=1)
    again = runs_of(tmp_path, f"{text}; os._exit(0)", tries=1)
    assert len(first.tries) == 1
    assert [each.end for each in again.tries] == ["killed", "finished"]


@pytest.fixture
def runs_of(monkeypatch: pytest.MonkeyPatch):
    from planning import cpu_entry, plan

    from planner_app.files.plans import write_plan

    def run(folder: Path, text: str, **options: Any):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        write_plan(folder / "p.json", plan(8, cpu_entry(8, 1, 1, 2)))
        (folder / "script.py").write_text(text)
        return supervise(folder / "p.json", ["script.py"], **{"say": lambda _: None, **options})

    return run


@pytest.mark.parametrize(
    ("code", "words", "by_kernel", "end"),
    [
        (0, "", False, End.FINISHED),
        (-9, "", True, End.MEMORY),
        (-9, "", False, End.KILLED),
        (-6, "F tsl/bfc_allocator.cc:123 Check failed: c->in_use()", False, End.MEMORY),
        (1, "tensorflow...ResourceExhaustedError: OOM when allocating tensor", False, End.MEMORY),
        (1, "PlanError: Memory ran out on the plan's last rung: 1 samples", False, End.ERROR),
        (1, "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", False, End.DEVICE),
        (-11, "", False, End.KILLED),
        (-2, "KeyboardInterrupt", False, End.ERROR),
        (1, "ValueError: shapes", False, End.ERROR),
        (1, f"{OOM}\nNo GPU: CUDA_ERROR_NO_DEVICE\n{TRACE}ValueError: shapes", False, End.ERROR),
        (1, f"{OOM}\n{TRACE}tensorflow.python.framework.errors_impl.InternalError: GEMM", False, End.MEMORY),
        (1, f"{TRACE}tensorflow.Error: {OOM}\n\n{DURING}\n\n{TRACE}ValueError: no results", False, End.MEMORY),
        (1, f"{TRACE}tensorflow.Error: {OOM}\n\nlogged\n\n{TRACE}ValueError: no results", False, End.ERROR),
        (
            2,
            f"PlanWarning: Memory ran out with 8 samples at a time ({OOM}): training goes on\nusage: ...",
            False,
            End.ERROR,
        ),
    ],
)
def test_that_an_end_is_understood(code, words, by_kernel, end):
    assert death_of(code, words, by_kernel).end is end


def test_that_an_abort_is_not_explained_by_whatever_was_said_last():
    assert "Check failed: no memory)" in death_of(-6, "F0000 x.cc:5] Check failed: no memory", False).sentence
    assert "aborted (SIGABRT)" in death_of(-6, "E0000 cuda_platform.cc:52] failed call to cuInit", False).sentence


def test_that_a_folder_has_one_supervisor(tmp_path, runs_of):
    text = (
        "import sys; from planner_app.train import supervise\n"
        f"supervise({str(tmp_path / 'p.json')!r}, [{sys.executable!r}, '-c', ''])"
    )
    report = runs_of(tmp_path, text)
    assert "Another `plimsoll run` has the folder" in report.reason


def test_that_no_script_is_said(tmp_path):
    with pytest.raises(PlanError, match="No script is named"):
        supervise(tmp_path / "p.json", [])
    with pytest.raises(PlanError, match=r"There is no script 'missing.py'"):
        supervise(tmp_path / "p.json", ["missing.py"])


def test_that_after_the_last_try_nothing_is_said_to_go_on(tmp_path, runs_of):
    said: list[str] = []
    runs_of(tmp_path, "import os; os.kill(os.getpid(), 9)", tries=2, say=said.append)
    assert [each.partition(";")[0] for each in said] == [
        "somebody killed it (SIGKILL)",
        "not started again after 2 tries: somebody killed it (SIGKILL)",
    ]
