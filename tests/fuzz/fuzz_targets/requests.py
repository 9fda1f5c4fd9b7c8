"""What a worker is asked, as the worker hears it."""

from fuzz_changes import changed_lines_of_json as mutate

from fuzz_targets.common import READ, Bad, corpus, refused
from planner_app.errors import PlannerError
from planner_app.jobs.protocol import Request
from planner_app.worker.serve import understood

KIND = "requests to workers"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("requests/*.txt")


def run(data: bytes) -> str:
    try:
        request = understood(data.partition(b"\n")[0])
    except PlannerError as error:
        return refused(error)
    if not isinstance(request, Request):
        raise Bad(f"{request!r:.200} is no request")
    request.reads()
    return READ
