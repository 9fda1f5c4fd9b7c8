"""A job: one request, one new child, and exactly one last event whatever the child does."""

import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import msgspec
import psutil
import pytest
from asking import COMMAND, Do, raw, wait_for

import planner_app
from planner_app.errors import ModelError, WorkerError
from planner_app.jobs import workdir as scratch
from planner_app.jobs.job import Job, error_of, result_of
from planner_app.jobs.protocol import GIB, MIB, Describe, Failed, Finished, Inspect, Progress, Started


def test_that_an_answer_comes_back_as_it_was_sent(ask):
    started, finished = ask(Do(what="echo", number=7, text="a b 'ä' \U0001f40b\n"))
    assert isinstance(started, Started)
    answer = msgspec.json.decode(finished.result)
    assert (answer["number"], answer["text"]) == (7, "a b 'ä' \U0001f40b\n")


def test_that_a_request_longer_than_a_pipe_arrives_whole(ask):
    text = "x" * (5 * MIB)
    answer = msgspec.json.decode(ask(Do(what="echo", text=text))[-1].result)
    assert answer["text"] == text


def test_that_an_answer_of_many_megabytes_arrives_whole(ask):
    assert len(bytes(ask(Do(what="big_answer", number=40 * MIB))[-1].result)) == 40 * MIB + 2


def test_that_an_answer_too_long_to_send_is_refused_with_a_sentence(ask):
    failed = ask(Do(what="big_answer", number=65 * MIB))[-1]
    assert failed.reason == "The answer is 65 MiB long; 64 can be sent."


def test_that_progress_arrives_while_the_child_works():
    texts = []
    result = result_of(Job(Do(what="count", number=3), command=COMMAND), int, lambda event: texts.append(event.text))
    assert (result, texts) == (3, ["step 0", "step 1", "step 2"])


def test_that_a_handler_that_reports_too_often_does_no_harm(ask):
    events = ask("report_much")
    assert isinstance(events[-1], Finished)
    assert 1 <= sum(isinstance(event, Progress) for event in events) < 500


def test_that_the_child_is_gone_when_the_last_event_arrives(children):
    for event in Job(Do(what="leaves_a_thread"), command=COMMAND):
        if isinstance(event, Finished):
            assert children() == []
            return
    pytest.fail("no answer")


def test_that_each_job_has_a_fresh_child(ask):
    processes = {msgspec.json.decode(ask()[-1].result)["process"] for _ in range(3)}
    assert len(processes) == 3


def test_that_what_a_layer_prints_is_not_an_event(ask):
    assert bytes(ask("prints")[-1].result) == b'"real"'


def test_that_a_layer_that_reads_stdin_finds_nothing(ask):
    assert bytes(ask("reads_stdin")[-1].result) == b'""'


# What a handler raises


def test_that_a_sentence_for_the_user_arrives_with_its_class_and_detail():
    with pytest.raises(ModelError, match=r"^The model is a sandwich\.$") as caught:
        result_of(Job(Do(what="refuses"), command=COMMAND), str)
    assert caught.value.detail == "ham"


def test_that_any_other_exception_is_one_sentence_with_the_traceback_as_detail(ask):
    failed = ask("fails")[-1]
    assert (failed.error, failed.reason) == ("WorkerError", "The worker failed with ValueError: first line ?")
    assert "handlers.py" in failed.detail
    assert "second line" in failed.detail


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("exits", "The worker failed with SystemExit: 3"),
        ("lacks_memory", "The worker ran out of memory (MemoryError)."),
        ("answers_nonsense", "The worker failed with TypeError: Encoding objects of type object is unsupported"),
    ],
)
def test_that_unusual_ends_of_a_handler_are_reported(ask, action, reason):
    assert ask(action)[-1].reason == reason


def test_that_a_missing_tensorflow_says_what_to_install(ask):
    assert 'pip install "plimsoll[tensorflow]"' in ask("lacks_tensorflow")[-1].reason


def test_that_an_answer_of_another_type_is_an_error():
    with pytest.raises(WorkerError, match="does not match the request"):
        result_of(Job(Do(what="prints"), command=COMMAND), int)


def test_that_an_unknown_error_is_a_worker_error():
    for name in ("Unheard", "PlannerError.x", "__name__"):
        assert type(error_of(Failed(error=name, reason="x"))) is WorkerError


# The parent


def test_that_two_threads_run_jobs_side_by_side():
    answers = []

    def work(number):
        for _ in range(4):
            answer = result_of(Job(Do(what="echo", number=number), command=COMMAND), dict)
            answers.append((number, answer["number"]))

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(answers) == [(1, 1)] * 4 + [(2, 2)] * 4


def test_that_thirty_jobs_leave_nothing_behind(ask):
    for number in range(30):
        ask(command=raw(["say(started + finished)", "os._exit(1)", "say('x\\n')"][number % 3]))
    # conftest counts processes, pipes and folders after every test


@pytest.mark.parametrize("action", ["sleeps", "ignores_sigterm", "holds_the_lock"])
def test_that_a_child_dies_with_its_parent_and_its_folder_is_found(tmp_path, monkeypatch, action):
    environment = os.environ | {
        "PYTHONPATH": str(Path(planner_app.__file__).parents[1]),
        "TMPDIR": tempfile.gettempdir(),
    }
    command = [sys.executable, Path(__file__).with_name("parent.py"), action]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        scratch.sweep()
        assert len(list(Path(tempfile.gettempdir()).iterdir())) == 1  # a folder in use stays
        parent.kill()
    assert wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    monkeypatch.setattr(scratch, "YOUNG_SECONDS", 0)
    scratch.sweep()
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


def test_that_only_folders_of_dead_parents_are_swept(monkeypatch):
    theirs = Path(tempfile.gettempdir()) / "plimsoll-worker-notes"
    theirs.mkdir()
    ours = scratch.Scratch()
    monkeypatch.setattr(scratch, "YOUNG_SECONDS", 0)
    scratch.sweep()
    assert theirs.exists()
    assert ours.home.exists()
    ours.remove()
    theirs.rmdir()


def test_that_folders_closed_to_their_owner_are_removed():
    ours = scratch.Scratch()
    for name, mode in (("closed", 0), ("unlisted", 0o300), ("read only", 0o500)):
        (ours.home / name / "inside").mkdir(parents=True)
        (ours.home / name / "inside" / "file").touch(0o400)
        (ours.home / name / "inside").chmod(mode)
        (ours.home / name).chmod(mode)
    ours.remove()
    assert not ours.folder.exists()


def test_that_what_a_link_points_to_is_not_removed_or_changed(tmp_path):
    ours = scratch.Scratch()
    (tmp_path / "theirs").mkdir(mode=0o500)
    (ours.home / "link").symlink_to(tmp_path / "theirs")
    ours.remove()
    assert stat.S_IMODE((tmp_path / "theirs").stat().st_mode) == 0o500


def test_that_a_name_that_is_not_utf8_gets_a_sentence(ask):
    failed = list(Job(Inspect(path="model\udcff.keras")))[-1]
    assert failed.reason == "The name 'model?.keras' is not valid UTF-8: rename the file and try again."


def test_that_asking_imports_neither_tensorflow_nor_the_worker():
    code = (
        "import sys, planner_app.jobs.job, planner_app.jobs.warm\n"
        "heavy = {'tensorflow', 'jax', 'keras', 'h5py', 'numpy', 'planner_app.worker'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_that_requests_say_what_they_read():
    assert Inspect(path="/a/m.keras", custom="/b/layers.py").reads() == ("/a/m.keras", "/b")
    assert Inspect(path="/a/b.py:make").reads() == ("/a/b.py",)
    assert Inspect(path="/a/b:c.keras", custom="layers.py").reads() == ("/a/b:c.keras", ".")
    assert Describe.limits.memory_bytes == 2 * GIB
