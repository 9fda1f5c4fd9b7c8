"""A model file of any kind, through the reader as the worker answers it, heard as the app hears it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz_targets.common import READ, Bad, refused, shown
from planner_app.core.model.description import CheckedModel
from planner_app.errors import ModelError, PlannerError
from planner_app.jobs.job import _decoded, error_of
from planner_app.jobs.protocol import Failed, Inspect, Request
from planner_app.jobs.stream import EventReader
from planner_app.worker.serve import HANDLERS, _answer

RUNS_CODE = {"TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "__lambda__"}


def read_model(path: Path) -> CheckedModel:
    """Raises ModelError for what is refused."""
    model = answered(Inspect(path=str(path)), CheckedModel)
    shown(model.name, model.keras_version or "", *model.warnings)
    for node in _objects(model.config):
        if node.get("class_name") in RUNS_CODE or ("code" in str(node.get("config"))[:40] and "closure" in str(node)):
            raise Bad(f"code was let through: {str(node)[:200]}")
    return model


def answered(request: Request, kind: Any) -> Any:
    (event,) = EventReader().feed(_answer(request, HANDLERS, lambda *_: None) + b"\n")
    if not isinstance(event, Failed):
        return _decoded(event, kind)
    error = error_of(event)
    if type(error) is not ModelError:
        raise Bad(f"{event.error}: {event.reason}\n{event.detail}")
    raise error


def outcome(path: Path) -> str:
    try:
        read_model(path)
    except PlannerError as error:
        return refused(error)
    return READ


def _objects(tree: Any) -> Iterator[dict[str, Any]]:
    stack = [tree]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack += value.values()
        elif isinstance(value, list):
            stack += value
