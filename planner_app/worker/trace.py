"""Model and setup to `StepTrace`: built without weights, traced, rewritten for the target, unrolled. Nothing runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner_app.core.trace import StepTrace
from planner_app.jobs import protocol

Report = Callable[[int, int, str], None]


def trace(request: protocol.Trace, report: Report) -> StepTrace:
    report(0, 5, "importing TensorFlow")
    from planner_app.worker.step import as_run, build, trace_batch, trace_step

    report(1, 5, "rebuilding the model")
    model = build(request.model, request.setup)
    report(2, 5, "tracing the training step")
    batch, prime = trace_batch(model)
    step = trace_step(model, batch)
    from planner_app.worker.assemble import assemble

    setup, warnings = as_run(model, request.setup)
    trace = assemble(model, step, setup, batch, prime, report)
    return replace(trace, warnings=(*trace.warnings, *warnings))
