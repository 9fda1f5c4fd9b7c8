"""Limits on time, silence, memory and files, and cancellation."""

import os
import threading
import time

import pytest
from asking import AT_ONCE_SECONDS, COMMAND, Do, raw

from planner_app.errors import Cancelled
from planner_app.jobs.job import Job, result_of
from planner_app.jobs.protocol import GIB, MIB, Finished, Limits, Started
from planner_app.jobs.usage.own_time import Moment, OwnTime


def limits(seconds: float = 30, memory_bytes: int = GIB, silence_seconds: float | None = None, **others) -> Limits:
    return Limits(memory_bytes=memory_bytes, seconds=seconds, silence_seconds=silence_seconds, **others)


def test_that_a_child_that_runs_too_long_is_stopped(ask):
    failed = ask("sleeps", limits=limits(seconds=0.7))[-1]
    assert failed.reason == "The worker ran longer than the 0.7 s it was allowed and was stopped."


def test_that_a_child_that_says_nothing_is_taken_to_hang(ask):
    failed = ask("holds_the_lock", limits=limits(silence_seconds=0.7))[-1]
    assert failed.reason == "The worker sent nothing for 0.7 s: it hung and was stopped."


def test_that_a_child_that_reports_may_take_its_time(ask):
    assert isinstance(ask(Do(what="count", number=20), limits=limits(silence_seconds=0.7))[-1], Finished)


def test_that_a_stopped_child_is_taken_to_hang(ask):
    code = "say(started); os.kill(os.getpid(), signal.SIGSTOP)"
    assert "ran longer than" in ask(limits=limits(seconds=0.5), command=raw(code))[-1].reason


def test_that_a_child_that_takes_too_much_memory_is_stopped(ask):
    failed = ask("eats_memory", limits=limits(memory_bytes=200 * MIB))[-1]
    assert failed.reason == "The worker needed more than the 200 MiB it was allowed and was stopped."


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


@pytest.mark.parametrize("action", ["sleeps", "ignores_sigterm", "holds_the_lock", "eats_memory"])
def test_that_cancel_ends_a_job_at_once(action):
    job = Job(Do(what=action), limits(memory_bytes=8 * GIB), command=COMMAND)
    events = iter(job)
    next(events)
    time.sleep(0.2)
    begun = time.monotonic()
    threading.Thread(target=job.cancel).start()
    *_, failed = events
    assert time.monotonic() - begun < AT_ONCE_SECONDS
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


def test_that_a_loop_left_early_ends_the_child(children):
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


def test_that_time_a_worker_waits_for_a_processor_is_not_counted(ask, monkeypatch):
    """As on a machine with too much to do: here it seems to wait all the time."""
    monkeypatch.setattr(OwnTime, "now", lambda _: Moment(time.monotonic(), time.monotonic()))
    assert isinstance(ask(Do(what="naps", number=1), limits=limits(silence_seconds=0.9, seconds=10))[-1], Finished)


def test_that_a_worker_gets_four_times_its_limit_at_most(ask, monkeypatch):
    monkeypatch.setattr(OwnTime, "now", lambda _: Moment(time.monotonic(), time.monotonic()))
    began = time.monotonic()
    failed = ask("holds_the_lock", limits=limits(silence_seconds=0.2))[-1]
    assert "sent nothing for 0.2 s: it hung" in failed.reason
    assert time.monotonic() - began > 4 * 0.2


def test_that_own_time_is_time_without_waiting():
    begin, end = Moment(100.0, 7.0), Moment(110.0, 11.0)
    assert end.since(begin) == 10 - 4
    assert Moment(110.0, 17.0).since(begin) == 10 - 7.5  # three quarters at most


def test_that_the_system_says_how_long_a_process_waited():
    own = OwnTime(os.getpid())
    before = own.now()
    assert 0 <= own.now().since(before) < 60
    assert OwnTime(2**22 + 1).now().waited == 0  # there is no such process
