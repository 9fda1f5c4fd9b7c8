"""The Python file named with --custom: looked at by the reader, never run by it."""

from fuzz_changes import changed_text as mutate

from fuzz_targets.common import CORPUS, READ, corpus, refused, written
from fuzz_targets.model_file import answered
from planner_app.core.model.description import CheckedModel
from planner_app.errors import PlannerError
from planner_app.jobs.protocol import Inspect

KIND = "files of code"
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    return corpus("python/*")


def run(data: bytes) -> str:
    model = str(CORPUS / "models" / "functional.json")
    try:
        answered(Inspect(path=model, custom=str(written(data, "mine.py"))), CheckedModel)
        return READ
    except PlannerError as error:
        return refused(error)
