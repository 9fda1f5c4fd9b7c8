"""A pool of warm workers: who needs one takes one that rests, and nobody imports TensorFlow twice for one question."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from asking import COMMAND, Do, wait_for

from planner_app.jobs.pool import WorkerPool


def process_in(pool: WorkerPool) -> int:
    with pool.worker() as worker:
        return worker.run(Do(what="echo"), dict)["process"]


def test_that_inside_a_pool_the_same_worker_is_asked_again(children):
    pool = WorkerPool(COMMAND)
    with pool:
        with pool:
            first = process_in(pool)
        assert process_in(pool) == first
    assert not children()


def test_that_outside_every_question_has_a_worker_of_its_own(children):
    pool = WorkerPool(COMMAND)
    first = process_in(pool)
    assert not children()
    assert process_in(pool) != first


def test_that_two_at_the_same_time_have_two_workers_that_both_stay(children):
    together = Barrier(2)

    def ask(pool: WorkerPool) -> int:
        with pool.worker() as worker:
            together.wait(10)
            return worker.run(Do(what="echo"), dict)["process"]

    with WorkerPool(COMMAND) as pool, ThreadPoolExecutor(2) as threads:
        first = set(threads.map(ask, [pool, pool]))
        assert len(first) == 2
        assert set(threads.map(ask, [pool, pool])) == first
    assert wait_for(lambda: not children())
