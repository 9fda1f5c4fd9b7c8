"""What a worker says, as the app hears it: events in pieces of any size, answers of any kind."""

from fuzz_changes import changed_lines_of_json as mutate

from fuzz_targets.common import READ, REFUSED, corpus, refused, shown
from planner_app.core.measure.measurement import Run
from planner_app.core.model.description import CheckedModel, ModelDescription
from planner_app.core.model.trace import StepTrace
from planner_app.errors import PlannerError
from planner_app.jobs.job import _decoded, error_of
from planner_app.jobs.last_words import out_of_memory
from planner_app.jobs.protocol import Failed, Finished, Progress
from planner_app.jobs.stream import EventReader, Tail, Trouble

KIND = "answers of workers"
ANSWERS = (CheckedModel, ModelDescription, StepTrace, Run)
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("events/*.txt")


def run(data: bytes) -> str:
    tail = Tail()
    tail.feed(data)
    out_of_memory(tail.text, "the first step")
    reader, third = EventReader(), len(data) // 3
    try:
        events = [event for part in (data[:third], data[third:]) for event in reader.feed(part)]
    except Trouble as trouble:
        shown(str(trouble))
        return str(trouble)
    for event in events:
        if isinstance(event, Progress):
            shown(event.text.replace("\n", "").replace("\t", ""))
        elif isinstance(event, Failed):
            shown(str(error_of(event)).replace("\n", "").replace("\t", ""))
        elif isinstance(event, Finished):
            _answers(event)
    return READ if events else REFUSED


def _answers(event: Finished) -> None:
    for kind in ANSWERS:
        try:
            _decoded(event, kind)
        except PlannerError as error:
            refused(error)
