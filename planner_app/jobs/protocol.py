"""The worker's language. One request goes in on stdin, one line of JSON; events come out, one line each;
the last one is always `Finished` or `Failed`:

    -> {"type": "Describe", "model": {...}}
    <- {"type": "Progress", "done": 1, "of": 3, "text": "importing TensorFlow"}
    <- {"type": "Finished", "result": {"name": "resnet50", ...}}
"""

from msgspec import Raw, Struct

from planner_app.core.model import CheckedModel


class Limits(Struct, frozen=True, kw_only=True):
    """What a child may use before it is stopped."""

    memory_bytes: int
    seconds: float


class Request(Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """One thing a worker is asked to do."""


class Inspect(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Read and check a model file, without TensorFlow. Answers with a `CheckedModel`."""

    path: str
    custom: str | None = None


class Describe(Request, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Rebuild a checked model without its weights. Answers with a `ModelDescription`."""

    model: CheckedModel


class Event(Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Something the worker says."""


class Progress(Event, frozen=True, kw_only=True, tag=True, tag_field="type"):
    done: int
    of: int
    text: str


class Finished(Event, frozen=True, kw_only=True, tag=True, tag_field="type"):
    result: Raw


class Failed(Event, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Nothing came of it. `error` names a class of `planner_app.errors`; `reason` is a sentence for the user."""

    error: str
    reason: str
    detail: str = ""
