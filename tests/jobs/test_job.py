"""A job: one request, one fresh child, and exactly one last event whatever the child does."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import msgspec
import psutil
import pytest
from asking import COMMAND, Do, raw
from conftest import children, wait_for

import planner_app
from planner_app.errors import Cancelled, ModelError, WorkerError
from planner_app.jobs import scratch
from planner_app.jobs.job import Job, error_of, result_of
from planner_app.jobs.protocol import GIB, MIB, Describe, Failed, Finished, Inspect, Limits, Progress, Started
from planner_app.jobs.stream import TAIL_BYTES


def limits(seconds: float = 30, memory_bytes: int = GIB, silence_seconds: float | None = None, **others) -> Limits:
    return Limits(memory_bytes=memory_bytes, seconds=seconds, silence_seconds=silence_seconds, **others)


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


def test_that_the_child_is_gone_when_the_last_event_arrives():
    for event in Job(Do(what="leaves_a_thread"), command=COMMAND):
        if isinstance(event, Finished):
            assert children() == []
            return
    pytest.fail("no answer")


def test_that_each_job_has_a_fresh_child(ask):
    processes = {msgspec.json.decode(ask()[-1].result)["process"] for _ in range(3)}
    assert len(processes) == 3


def test_that_what_a_layer_prints_is_no_event(ask):
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
    assert "deeds.py" in failed.detail
    assert "second line" in failed.detail


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        ("exits", "The worker failed with SystemExit: 3"),
        ("lacks_memory", "The worker ran out of memory (MemoryError)."),
        ("answers_nonsense", "The worker failed with TypeError: Encoding objects of type object is unsupported"),
    ],
)
def test_that_odd_ends_of_a_handler_are_told(ask, deed, reason):
    assert ask(deed)[-1].reason == reason


def test_that_a_missing_tensorflow_says_what_to_install(ask):
    assert 'pip install "plimsoll[tensorflow]"' in ask("lacks_tensorflow")[-1].reason


def test_that_an_answer_of_another_type_is_an_error():
    with pytest.raises(WorkerError, match="not what was asked for"):
        result_of(Job(Do(what="prints"), command=COMMAND), int)


def test_that_an_error_nobody_knows_is_the_workers():
    for name in ("Unheard", "PlannerError.x", "__name__"):
        assert type(error_of(Failed(error=name, reason="x"))) is WorkerError


# Children that die


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGSEGV])
def test_that_a_child_killed_by_a_signal_says_which(ask, number):
    failed = ask(Do(what="kills_itself", number=number))[-1]
    assert failed.error == "WorkerError"
    assert f"killed by signal {number.value} ({number.name})" in failed.reason


def test_that_a_crash_keeps_the_place_where_it_happened(ask):
    failed = ask("segfaults")[-1]
    assert "SIGSEGV" in failed.reason
    assert "segfaults" in failed.detail


def test_that_children_killed_at_random_moments_leave_one_event_each(ask):
    dice = random.Random(1)
    for _ in range(12):
        job = Job(Do(what="count", number=3), command=COMMAND)
        killer = threading.Timer(dice.uniform(0, 0.35), lambda: [child.kill() for child in children()])
        killer.start()
        events = list(job)
        killer.join()
        assert isinstance(events[-1], Finished) or "killed by signal 9" in events[-1].reason
        assert not any(isinstance(event, Finished | Failed) for event in events[:-1])
    assert isinstance(ask()[-1], Finished)


def test_that_an_exit_without_an_answer_says_the_code_and_keeps_the_last_words(ask):
    failed = ask(command=raw("sys.stderr.write('last words'); os._exit(5)"))[-1]
    assert failed.reason == "The worker ended with exit code 5 before it had an answer."
    assert failed.detail == "last words"


def test_that_half_a_line_is_no_answer(ask):
    failed = ask(command=raw("say(started + finished[:20])"))[-1]
    assert failed.reason == "The worker ended with exit code 0 in the middle of an answer."


def test_that_a_program_that_does_not_exist_is_one_sentence(ask):
    assert ask(command=["/no/such/python"])[-1].reason == (
        "The worker '/no/such/python' could not be started: No such file or directory."
    )


# Children that misbehave


def test_that_garbage_is_refused(ask):
    for garbage in (r"say('hello\n')", r"os.write(1, b'\xff\x00\n')", r"say('[' * 100000 + '\n')", r"say('{}\n')"):
        failed = ask(command=raw(garbage + "; time.sleep(60)"))[-1]
        assert failed.reason == "The worker sent a line that is no event, and was stopped."


def test_that_an_event_of_an_unknown_kind_or_with_wrong_fields_is_refused(ask):
    for event in ({"type": "Exploded"}, {"type": "Progress", "done": "1", "of": 2, "text": ""}):
        failed = ask(command=raw(f"say(started + '''{msgspec.json.encode(event).decode()}''' + '\\n'); time.sleep(60)"))
        assert "no event" in failed[-1].reason


def test_that_an_answer_before_the_child_is_ready_is_refused(ask):
    assert "before it was ready" in ask(command=raw("say(finished); time.sleep(60)"))[-1].reason


def test_that_events_after_the_last_one_are_not_heard(ask):
    events = ask(command=raw("say(started + finished + progress + finished + 'garbage'); time.sleep(60)"))
    assert [type(event) for event in events] == [Started, Finished]


def test_that_a_line_without_an_end_is_stopped(ask):
    failed = ask(command=raw("say(started)\nwhile True: say('x' * 65536)"))[-1]
    assert failed.reason == "The worker sent a line longer than 256 KiB and was stopped."


def test_that_an_answer_without_an_end_is_stopped(ask):
    failed = ask(command=raw("say(started + finished[:27])\nwhile True: say('1' * 65536)"))[-1]
    assert failed.reason == "The worker sent a line longer than 65536 KiB and was stopped."


def test_that_a_flood_of_events_is_stopped():
    events = list(Job(Do(what=""), command=raw("say(started)\nwhile True: say(progress * 100)")))
    assert events[-1].reason == "The worker sent more than 200 events a second and was stopped."
    assert len(events) < 3000


def test_that_a_flood_on_stderr_is_stopped_and_only_its_end_kept(ask):
    failed = ask(command=raw("say(started)\nwhile True: os.write(2, b'x' * 65536)"))[-1]
    assert failed.reason == "The worker printed more than 256 MiB and was stopped."
    assert len(failed.detail) <= TAIL_BYTES


def test_that_words_for_the_terminal_are_shown_not_obeyed(ask):
    failed = ask(command=raw(r"sys.stderr.write('\x1b[2J\x07red'); os._exit(1)"))[-1]
    assert failed.detail == "\ufffd[2J\ufffdred"


def test_that_a_child_that_closes_its_output_and_lives_on_is_stopped(ask):
    failed = ask(command=raw("say(started); os.close(1); time.sleep(60)"))[-1]
    assert failed.reason == "The worker closed its output without an answer, and was stopped."


def test_that_a_child_that_answers_and_then_ignores_everything_is_ended(ask):
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say(started + finished); time.sleep(60)"
    assert isinstance(ask(command=raw(code))[-1], Finished)


def test_that_what_a_child_started_is_ended_with_it(ask):
    code = (
        "sleeper = subprocess.Popen(['sleep', '600'])\n"
        "say(started + progress.replace('half', str(sleeper.pid)) + finished)"
    )
    process = int(ask(command=raw(code))[1].text)
    assert wait_for(lambda: not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE)


# Limits


def test_that_a_child_that_runs_too_long_is_stopped(ask):
    failed = ask("sleeps", limits=limits(seconds=0.7))[-1]
    assert failed.reason == "The worker ran longer than the 0.7 s it was given and was stopped."


def test_that_a_child_that_says_nothing_is_taken_to_hang(ask):
    failed = ask("holds_the_lock", limits=limits(silence_seconds=0.7))[-1]
    assert failed.reason == "The worker said nothing for 0.7 s: it hangs, and was stopped."


def test_that_a_child_that_reports_may_take_its_time(ask):
    assert isinstance(ask(Do(what="count", number=20), limits=limits(silence_seconds=0.7))[-1], Finished)


def test_that_a_stopped_child_is_taken_to_hang(ask):
    code = "say(started); os.kill(os.getpid(), signal.SIGSTOP)"
    assert "ran longer than" in ask(limits=limits(seconds=0.5), command=raw(code))[-1].reason


def test_that_a_child_that_takes_too_much_memory_is_stopped(ask):
    failed = ask("eats_memory", limits=limits(memory_bytes=200 * MIB))[-1]
    assert failed.reason == "The worker needed more than the 200 MiB it was given and was stopped."


def test_that_memory_of_what_a_child_started_counts(ask):
    eat = "import time; x = bytearray(300 << 20); time.sleep(60)"
    code = f"say(started); subprocess.Popen([sys.executable, '-c', {eat!r}]); time.sleep(60)"
    assert "needed more than" in ask(limits=limits(memory_bytes=200 * MIB), command=raw(code))[-1].reason


def test_that_address_space_can_be_bounded_too(ask):
    failed = ask("eats_memory", limits=limits(address_bytes=GIB, memory_bytes=8 * GIB))[-1]
    assert failed.reason == "The worker ran out of memory (MemoryError)."


def test_that_a_file_can_only_grow_so_far(ask):
    failed = ask("writes_much", limits=limits(file_bytes=2 * MIB))[-1]
    assert "File too large" in failed.reason


# Cancelling


@pytest.mark.parametrize("deed", ["sleeps", "ignores_sigterm", "holds_the_lock", "eats_memory"])
def test_that_cancel_ends_a_job_within_a_second(deed):
    job = Job(Do(what=deed), limits(memory_bytes=8 * GIB), command=COMMAND)
    events = iter(job)
    next(events)
    time.sleep(0.2)
    begun = time.monotonic()
    threading.Thread(target=job.cancel).start()
    *_, failed = events
    assert time.monotonic() - begun < 1
    assert (failed.error, failed.reason) == ("Cancelled", "Cancelled.")


def test_that_a_job_cancelled_before_it_begins_starts_no_child():
    job = Job(Do(what="echo"), command=["/no/such/python"])
    job.cancel()
    with pytest.raises(Cancelled):
        result_of(job, str)


def test_that_cancelling_a_finished_job_changes_nothing():
    job = Job(Do(what="echo"), command=COMMAND)
    events = list(job)
    job.cancel()
    assert isinstance(events[-1], Finished)


def test_that_a_loop_left_early_ends_the_child():
    for event in Job(Do(what="sleeps"), command=COMMAND):
        assert isinstance(event, Started)
        break
    assert children() == []


def test_that_an_exception_of_the_listener_ends_the_child():
    def complain(event):
        raise LookupError

    with pytest.raises(LookupError):
        result_of(Job(Do(what="sleeps"), command=COMMAND), str, complain)


def test_that_a_job_runs_once():
    job = Job(Do(what="echo"), command=COMMAND)
    list(job)
    with pytest.raises(RuntimeError):
        iter(job)


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


@pytest.mark.parametrize("deed", ["sleeps", "ignores_sigterm", "holds_the_lock"])
def test_that_a_child_dies_with_its_parent_and_its_folder_is_found(tmp_path, monkeypatch, deed):
    environment = os.environ | {
        "PYTHONPATH": str(Path(planner_app.__file__).parents[1]),
        "TMPDIR": tempfile.gettempdir(),
    }
    command = [sys.executable, Path(__file__).with_name("parent.py"), deed]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        scratch.sweep()
        assert len(list(Path(tempfile.gettempdir()).iterdir())) == 1  # a folder in use stays
        parent.kill()
    assert wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, 3)
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


def test_that_a_name_that_is_not_utf8_gets_a_sentence(ask):
    failed = list(Job(Inspect(path="model\udcff.keras")))[-1]
    assert failed.reason == "The name 'model?.keras' is not valid UTF-8: rename the file and try again."


def test_that_asking_imports_neither_tensorflow_nor_the_worker():
    code = (
        "import sys, planner_app.jobs.job, planner_app.jobs.warm\n"
        "heavy = {'tensorflow', 'keras', 'h5py', 'numpy', 'planner_app.worker'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_that_requests_say_what_they_read():
    assert Inspect(path="/a/m.keras", custom="/b/layers.py").reads() == ("/a/m.keras", "/b")
    assert Inspect(path="/a/b.py:make").reads() == ("/a/b.py",)
    assert Inspect(path="/a/b:c.keras", custom="layers.py").reads() == ("/a/b:c.keras", ".")
    assert Describe.limits.memory_bytes == 2 * GIB
