"""Model and setup to `StepTrace`: built without weights, traced, rewritten for the target, unrolled. Nothing runs."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import msgspec

from planner_app.core.model.trace import StepTrace
from planner_app.jobs import protocol

Report = Callable[[int, int, str], None]

# A trace is hundreds of thousands of objects that stay: looking through them for garbage took a tenth of its time.
OBJECTS_BETWEEN_COLLECTIONS = 200_000


def trace(request: protocol.Trace, report: Report) -> StepTrace:
    report(0, 5, "importing TensorFlow")
    from planner_app.worker.graph.assemble import assemble
    from planner_app.worker.graph.shared_step import traced
    from planner_app.worker.graph.step import as_run

    _collect_seldom()
    identity = sha256(msgspec.json.encode(request.model)).digest()
    made = traced(request.model, request.setup, identity, report)
    setup, warnings = as_run(made.made, request.setup)
    found = assemble(made, setup, report)
    return replace(found, warnings=(*found.warnings, *warnings), trained=made.made.trained)


def _collect_seldom() -> None:
    """What importing TensorFlow has made stays for good; of a model that another one replaces, everything goes."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 20, 20)
