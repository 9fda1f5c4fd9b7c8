"""Children that die, flood, send garbage or refuse to exit: always one last event that says what happened."""

import random
import signal
import sys
import threading

import msgspec
import psutil
import pytest
from asking import COMMAND, Do, raw, wait_for

from planner_app.jobs.job import Job
from planner_app.jobs.protocol import Failed, Finished, Started
from planner_app.jobs.stream import TAIL_BYTES


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGSEGV])
def test_that_a_child_killed_by_a_signal_says_which(ask, number):
    failed = ask(Do(what="kills_itself", number=number))[-1]
    assert failed.error == "WorkerError"
    assert f"killed by signal {number.value} ({number.name})" in failed.reason


def test_that_a_crash_keeps_the_place_where_it_happened(ask):
    failed = ask("segfaults")[-1]
    assert "SIGSEGV" in failed.reason
    assert "segfaults" in failed.detail


def test_that_children_killed_at_random_moments_leave_one_event_each(children, ask):
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
    failed = ask(command=raw("sys.stderr.write('last words'); sys.stderr.flush(); os._exit(5)"))[-1]
    assert failed.reason == "The worker ended with exit code 5 before it answered."
    assert failed.detail == "last words"


def test_that_half_a_line_is_not_an_answer(ask):
    failed = ask(command=raw("say(started + finished[:20])"))[-1]
    assert failed.reason == "The worker ended with exit code 0 in the middle of an answer."


def test_that_a_program_that_does_not_exist_is_one_sentence(ask):
    assert ask(command=["/no/such/python"])[-1].reason == (
        "The worker '/no/such/python' could not be started: No such file or directory."
    )


def test_that_a_python_without_our_package_says_what_to_install(ask):
    failed = ask(command=[sys.executable, "-I", "-S", "-m", "no_such_package.worker"])[-1]
    assert failed.reason == (
        'The worker\'s Python has no module no_such_package: install it there with pip install "plimsoll[tensorflow]".'
    )


# Children that misbehave


def test_that_garbage_is_refused(ask):
    for garbage in (r"say('hello\n')", r"os.write(1, b'\xff\x00\n')", r"say('[' * 100000 + '\n')", r"say('{}\n')"):
        failed = ask(command=raw(garbage + "; time.sleep(60)"))[-1]
        assert failed.reason == "The worker sent a line that is not an event, and was stopped."


def test_that_an_event_of_an_unknown_kind_or_with_wrong_fields_is_refused(ask):
    for event in ({"type": "Exploded"}, {"type": "Progress", "done": "1", "of": 2, "text": ""}):
        failed = ask(command=raw(f"say(started + '''{msgspec.json.encode(event).decode()}''' + '\\n'); time.sleep(60)"))
        assert "not an event" in failed[-1].reason


def test_that_an_answer_before_the_child_is_ready_is_refused(ask):
    assert "before it was ready" in ask(command=raw("say(finished); time.sleep(60)"))[-1].reason


def test_that_events_after_the_last_one_are_ignored(ask):
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
    failed = ask(command=raw(r"sys.stderr.write('\x1b[2J\x07red'); sys.stderr.flush(); os._exit(1)"))[-1]
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
