"""Model and setup to `StepTrace`: built without weights, traced, rewritten for the target, unrolled. Nothing runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import msgspec

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Backend, StepSetup
from planner_app.core.model.trace import StepTrace
from planner_app.jobs import protocol
from planner_app.worker.importing import collect_seldom, quickly

Report = Callable[[int, int, str], None]


def trace(request: protocol.Trace, report: Report) -> StepTrace:
    if request.setup.backend is Backend.JAX:
        from planner_app.worker.jax.trace import trace as trace_on_jax

        return trace_on_jax(request, report)
    report(0, 5, "importing TensorFlow")
    with quickly():
        from planner_app.worker.graph.assemble import assemble
        from planner_app.worker.training.shared_step import traced
        from planner_app.worker.training.step import as_run

    collect_seldom()
    identity = sha256(msgspec.json.encode(request.model)).digest()
    made = traced(request.model, request.setup, identity, report)
    setup, warnings = as_run(made.made, request.setup)
    found = assemble(made, setup, report)
    trained = made.made.trained
    trained = replace(trained, assumed=(*trained.assumed, *_assumed_jit(request.model, setup)))
    return replace(found, warnings=(*found.warnings, *warnings), trained=trained)


def _assumed_jit(model: CheckedModel, setup: StepSetup) -> tuple[str, ...]:
    """Keras saves what "auto" came to, which without a GPU is False; whoever compiles on the GPU gets XLA."""
    saved_without = model.format != "live" and (model.compile_config or {}).get("jit_compile") is False
    if not (saved_without and setup.xla and setup.left_to_model and setup.target != "cpu"):
        return ()
    return (
        "XLA, as in a script that calls compile on the GPU: the file says jit_compile=False, which is also what Keras "
        "saves on a machine without a GPU. Use --jit off if you train the loaded file without calling compile",
    )
