"""A warm worker: one child for many requests, replaced when it can't be trusted."""

import signal
import threading
import time

import pytest
from asking import AT_ONCE_SECONDS, COMMAND, Do, raw, wait_for

from planner_app.errors import Cancelled, ModelError, WorkerError
from planner_app.jobs.protocol import MIB, Finished, Limits, Started
from planner_app.jobs.warm import WarmWorker


@pytest.fixture
def worker():
    with WarmWorker(COMMAND) as worker:
        yield worker


def process_of(worker: WarmWorker) -> int:
    return worker.run(Do(what="echo"), dict)["process"]


def test_that_requests_meet_the_same_child_and_what_it_remembers(worker):
    assert [worker.run(Do(what="global_count"), int) for _ in range(3)] == [1, 2, 3]


def test_that_each_request_is_told_what_confines_the_child(worker):
    for _ in range(2):
        started, finished = worker.job(Do(what="echo"))
        assert isinstance(started, Started)
        assert isinstance(finished, Finished)


def test_that_a_sentence_for_the_user_keeps_the_child(worker):
    before = process_of(worker)
    with pytest.raises(ModelError):
        worker.run(Do(what="refuses"), str)
    assert process_of(worker) == before


@pytest.mark.parametrize("action", ["fails", "exits", "lacks_memory", "segfaults"])
def test_that_an_unforeseen_error_replaces_the_child(worker, action):
    before = process_of(worker)
    with pytest.raises(WorkerError):
        worker.run(Do(what=action), str)
    assert process_of(worker) != before


def test_that_a_child_that_died_between_requests_is_replaced_unnoticed(children, worker):
    for _ in range(5):
        before = process_of(worker)
        children()[0].kill()  # and no waiting: it may be seen dead before or after the next request is sent
        assert process_of(worker) != before


def test_that_a_child_that_dies_at_work_is_reported_and_replaced(worker):
    with pytest.raises(WorkerError, match="killed by signal 9"):
        worker.run(Do(what="kills_itself", number=signal.SIGKILL), str)
    assert process_of(worker)


def test_that_a_hanging_child_is_stopped_and_replaced(children, worker):
    process_of(worker)
    children()[0].suspend()
    with pytest.raises(WorkerError, match="ran longer than"):
        worker.run(Do(what="echo"), dict, Limits(memory_bytes=512 * MIB, seconds=0.5))
    assert process_of(worker)


def test_that_a_cancelled_request_is_over_at_once_and_the_next_one_works(worker):
    job = worker.job(Do(what="ignores_sigterm"))
    events = iter(job)
    next(events)
    begun = time.monotonic()
    job.cancel()
    *_, failed = events
    assert failed.error == "Cancelled"
    assert time.monotonic() - begun < AT_ONCE_SECONDS
    assert process_of(worker)


def test_that_a_loop_left_early_replaces_the_child(worker):
    for _ in worker.job(Do(what="sleeps")):
        break
    assert process_of(worker)


def test_that_too_much_memory_replaces_the_child(worker):
    with pytest.raises(WorkerError, match="needed more than"):
        worker.run(Do(what="eats_memory"), str, Limits(memory_bytes=150 * MIB, seconds=30))
    assert process_of(worker)


def test_that_other_files_to_read_need_another_child(worker, tmp_path):
    before = process_of(worker)
    file = tmp_path / "file"
    file.write_text("x")
    assert worker.run(Do(what="echo", read=(str(file),)), dict)["process"] != before


def test_that_words_after_the_last_event_replace_the_child():
    code = "say(started + finished); time.sleep(0.1); say(finished)\nwhile sys.stdin.readline(): say('garbage')"
    with WarmWorker(raw(code)) as worker:
        assert worker.run(Do(what=""), int) == 1
        time.sleep(0.3)
        assert worker.run(Do(what=""), int) == 1


def test_that_requests_of_two_threads_wait_for_each_other(worker):
    answers = []

    def work():
        answers.extend(worker.run(Do(what="global_count"), int) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(answers) == list(range(1, 11))


def test_that_the_child_outlives_the_thread_that_started_it(worker):
    processes = []
    thread = threading.Thread(target=lambda: processes.append(process_of(worker)))
    thread.start()
    thread.join()
    time.sleep(0.1)
    assert processes == [process_of(worker)]


def test_that_a_request_that_waits_for_another_can_be_cancelled(children, worker):
    first = worker.job(Do(what="sleeps"))
    thread = threading.Thread(target=lambda: list(first))
    thread.start()
    assert wait_for(lambda: bool(children()))
    second = worker.job(Do(what="echo"))
    threading.Timer(0.1, second.cancel).start()
    assert [event.error for event in second] == ["Cancelled"]
    first.cancel()
    thread.join()


def test_that_a_thread_can_not_start_a_job_before_its_last_one_ended(worker):
    events = iter(worker.job(Do(what="sleeps")))
    next(events)
    with pytest.raises(RuntimeError):
        list(worker.job(Do(what="echo")))
    events.close()


def test_that_close_cancels_what_runs_and_leaves_no_process(children):
    worker = WarmWorker(COMMAND)
    failures = []

    def work():
        try:
            worker.run(Do(what="sleeps"), str)
        except Cancelled as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert wait_for(lambda: bool(children()))
    worker.close()
    assert children() == []
    thread.join()
    assert len(failures) == 1


def test_that_a_closed_worker_says_so(worker):
    worker.close()
    worker.close()
    with pytest.raises(WorkerError, match="closed"):
        process_of(worker)
