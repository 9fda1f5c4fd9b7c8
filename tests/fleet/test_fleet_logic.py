"""Each piece of work ends exactly once, on whatever node, and what has ended is not measured again."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest

from planner_app.core.measure.measurement import Measurement, Order, Place, Versions
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup
from planner_app.errors import WorkerError
from planner_app.files.kept.fleet_results import FleetResults
from planner_app.fleet.driver import Driver
from planner_app.fleet.protocol import Again, Answer, Ended, Needs, Node, Submit, Work
from planner_app.jobs.protocol import Failed, Finished
from planner_app.planner.fleet.measuring import Point, measure_all

DONE = Finished(result=msgspec.Raw(b"1"))
NO_DRIVER = Failed(error="DeviceError", reason="The driver does not answer.")
BAD_MODEL = Failed(error="ModelError", reason="The model has no layers.")
DIED = (None, "It has died.")


def node(number: str, *kinds: str) -> Node:
    return Node(number=number, host=f"host-{number}", address="", cpus=2, kinds=kinds)


class Scripted(Driver):
    """The driver's own decisions; Ray's part is a list of what happened: the node, its last event, or why none."""

    def __init__(self, nodes: Sequence[Node], happens: Sequence[tuple[str, Finished | Failed | None, str]]) -> None:
        self.written = io.BytesIO()
        super().__init__(SimpleNamespace(remote=lambda **_: lambda function: function), self.written)
        self.nodes, self.happens, self.avoided = tuple(nodes), list(happens), list[set[str]]()

    def _nodes(self):
        return self.nodes

    def _attempt(self, _work, avoided, stopped):
        self.avoided.append(set(avoided))
        node, event, reason = self.happens.pop(0)
        if reason == "stopped":
            stopped.set()
            reason = ""
        return node, event, reason

    def answers(self, **more: object) -> list[Answer]:
        self.hear(Submit(work=Work(name="7", title="net", entry="", request=msgspec.Raw(b"null"), **more)))
        for thread in self._threads:
            thread.join()
        return [msgspec.json.decode(line, type=Answer) for line in self.written.getvalue().splitlines()]


def ended(answers: list[Answer]) -> Ended:
    (end,) = (each for each in answers if isinstance(each, Ended))
    assert answers[-1] is end
    return end


def test_that_work_of_a_node_that_died_begins_again_and_ends_once():
    driver = Scripted([node("a"), node("b")], [("host-a", *DIED), ("host-b", DONE, "")])
    answers = driver.answers()
    assert [type(each) for each in answers] == [Again, Ended]
    assert answers[0].reason == "net: It has died. Trying again, 2 of 3."
    assert (ended(answers).node, ended(answers).attempts, ended(answers).event) == ("host-b", 2, DONE)


def test_that_it_is_given_up_after_its_tries():
    answers = Scripted([node("a")], [("host-a", *DIED)] * 3).answers()
    assert [type(each) for each in answers] == [Again, Again, Ended]
    assert ended(answers).event.reason == "It has died. It was tried 3 times."
    once = Scripted([node("a")], [("host-a", *DIED)]).answers(tries=1)
    assert ended(once).event.reason == "It has died."


def test_that_a_fault_of_the_node_is_tried_on_another_one_and_not_there_again():
    driver = Scripted([node("a"), node("b")], [("host-a", NO_DRIVER, ""), ("host-b", DONE, "")])
    assert ended(driver.answers()).node == "host-b"
    assert driver.avoided == [set(), {"a"}]


@pytest.mark.parametrize(
    ("nodes", "event", "needs"),
    [
        ([node("a"), node("b")], BAD_MODEL, Needs()),  # the model's own fault is the same everywhere
        ([node("a")], NO_DRIVER, Needs()),  # no other node
        ([node("a", "L4"), node("b")], NO_DRIVER, Needs(kind="L4")),  # none that has it
        ([node("a"), node("b")], NO_DRIVER, Needs(node="a")),  # asked of this one alone
    ],
)
def test_that_nothing_begins_again_where_it_would_end_the_same(nodes, event, needs):
    driver = Scripted(nodes, [("host-a", event, "")])
    (only,) = driver.answers(needs=needs)
    assert (only.event, only.attempts) == (event, 1)


def test_that_stopped_work_does_not_begin_again():
    answers = Scripted([node("a"), node("b")], [("host-a", NO_DRIVER, "stopped")]).answers()
    assert [type(each) for each in answers] == [Ended]


POINTS = [Point(CheckedModel("net", "json", {}), Setup(batch=batch)) for batch in (1, 2, 3)]


def measured(batch: int) -> Measurement:
    return Measurement(
        versions=Versions("0.1.0", "2.21.0", "3.15.1", "3.11.7", None),
        hardware="a CPU",
        place=Place(()),
        order=Order.ORDINARY,
        model="net",
        model_sha256="",
        setup=Setup(batch=batch),
        measured_at="2026-11-16T04:37:00Z",
        runs=(),
        host="host-a",
    )


class Answering:
    """A cluster that measures what it is asked for, and is gone after so many."""

    def __init__(self, most: int = 99, **changed: str) -> None:
        self.most, self.changed, self.asked = most, changed, list[str]()

    def run(self, works: Sequence[Work], _cancelled: object = None) -> Iterator[Ended]:
        self.asked = [work.name for work in works]
        for work in works[: self.most]:
            found = replace(measured(int(work.name) + 1), **self.changed)
            yield Ended(name=work.name, node="host-a", event=Finished(result=msgspec.Raw(msgspec.json.encode(found))))
        if len(works) > self.most:
            raise WorkerError("The Ray cluster has gone away.")


def test_that_an_interrupted_run_goes_on_with_what_is_missing(tmp_path):
    kept = FleetResults(tmp_path)
    with pytest.raises(WorkerError):
        measure_all(Answering(most=2), POINTS, kept=kept)
    again = Answering()
    outcomes = measure_all(again, POINTS, kept=kept)
    assert again.asked == ["2"]
    assert [each.measurement for each in outcomes] == [measured(1), measured(2), measured(3)]
    assert [each.attempts for each in outcomes] == [0, 0, 1]
    kept.forget(POINTS[0].key)
    assert [kept.read(point.key) is None for point in POINTS] == [True, False, False]


def test_that_half_a_measurement_and_one_of_other_code_are_measured_again(tmp_path):
    code = tmp_path / "net.py"
    code.write_text("one = 1\n")
    point = Point(CheckedModel("net", "python", {}, custom=f"{code}:build"), Setup(batch=1))
    kept, ended_early, other = FleetResults(tmp_path / "kept"), Answering(ended="Cancelled."), Answering()
    measure_all(ended_early, [point], kept=kept)
    measure_all(other, [point], kept=kept)
    assert other.asked == ["0"]
    assert kept.read(point.key) == measured(1)
    code.write_text("one = 2\n")
    assert kept.read(point.key) is None
