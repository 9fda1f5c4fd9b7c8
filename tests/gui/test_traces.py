"""Lines are traced in threads of their own, which share what they know and go on whatever happens to one of them."""

import sys
import threading
from dataclasses import dataclass

from waiting import wait

from planner_app.core.model.setup import Precision, StepSetup
from planner_app.core.replay.allocate import Peak
from planner_app.core.replay.memory import Memory, Point
from planner_app.errors import PlannerError
from planner_app.gui.background.answers import Answers
from planner_app.gui.background.traces import TraceRequest, Traces


def test_that_a_bug_in_one_line_is_told_and_the_next_line_is_traced(qapp):
    told: list[tuple[StepSetup, str]] = []
    first, second = StepSetup(), StepSetup(replicated=True)

    class Broken:
        def trace(self, step, *_):
            raise RuntimeError("dictionary changed size during iteration")

    traces = Traces(lanes=1)
    traces.failed.connect(lambda _tracer, step, why: told.append((step, why)))
    traces.request(TraceRequest(Broken(), (first, second), 1 << 30))
    wait(lambda: len(told) == 2, seconds=20)
    traces.close()
    assert [step for step, _ in told] == [first, second]
    assert told[0][1] == "A bug in Plimsoll: RuntimeError: dictionary changed size during iteration"


def test_that_the_chosen_line_is_for_the_worker_that_has_tensorflow_imported_already(qapp):
    workers: dict[StepSetup, object] = {}

    class Seen:
        def trace(self, step, worker, *_):
            workers[step] = worker
            raise PlannerError("seen")

    class Ready:
        started = True

        def close(self) -> None: ...

    traces = Traces(lanes=2)
    ready = traces._lanes[1].worker = Ready()
    chosen, other = StepSetup(), StepSetup(precision=Precision.MIXED_FLOAT16)
    traces.request(TraceRequest(Seen(), (chosen, other), 1 << 30))
    wait(lambda: len(workers) == 2, seconds=20)
    traces.close()
    assert workers[chosen] is ready


def test_that_one_thread_may_ask_about_a_line_while_another_adds_points_to_it():
    memory = Memory(lambda: None, StepSetup(), [_point(1)])
    before, adding = sys.getswitchinterval(), threading.Event()

    def add() -> None:
        for batch in range(2, 20_000):
            memory._points[batch] = _point(batch)
        adding.set()

    sys.setswitchinterval(1e-6)
    try:
        thread = threading.Thread(target=add)
        thread.start()
        while not adding.is_set():
            assert memory.xla
        thread.join()
    finally:
        sys.setswitchinterval(before)


def _point(batch: int) -> Point:
    return Point(batch, 0, 0, 0, 0, 0, Peak(0, 0, 0), xla=True)


def test_that_what_was_worked_out_is_kept_once_nothing_more_is_asked_and_at_the_end(qapp):
    kept: list[int] = []
    answers = Answers(keep=lambda: kept.append(len(answered)))
    answered: list[int] = []

    @dataclass(frozen=True)
    class Square:
        of: int

        def answer(self) -> int:
            answered.append(self.of)
            return self.of**2

    answers.ask("chart", [Square(2), Square(3)])
    wait(lambda: bool(kept), seconds=20)
    assert kept == [2], "both answers together"
    answers.ask("chart", [Square(4)])
    wait(lambda: answers.idle, seconds=20)
    answers.close()
    assert kept == [2, 3] and answers.ask("chart", [Square(4)]) == [16]
