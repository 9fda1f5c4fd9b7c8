"""A model's training step, traced once for all that can be made of it: one GPU or several, compiled by XLA or not."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import keras
from tensorflow.python.framework import ops

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import StepSetup
from planner_app.worker.graph.nodes import Graph
from planner_app.worker.graph.rewrite import step_graph
from planner_app.worker.training.optimizers import optimizers_of
from planner_app.worker.training.repeated import repeated_updates
from planner_app.worker.training.replicas import Reduction
from planner_app.worker.training.step import build, trace_step
from planner_app.worker.training.trainable import Trainable, trace_batch


@dataclass(frozen=True, slots=True)
class Traced:
    """Attributes:
    step: The graph of the step, written down: that takes a fraction of the memory of the function it was traced to.
    captured: The variable behind each resource of the graph.
    batch: The batch traced with; `prime` is its factor that no other size has.
    reduction: What adds up gradients over GPUs, where there is such a thing in the step.
    compiled: The graph that XLA gets, of a step on several GPUs or on one, once it was made.
    """

    made: Trainable
    step: bytes
    captured: dict[str, Any]
    batch: int
    prime: int
    reduction: Reduction | None
    compiled: dict[bool, Graph] = field(default_factory=dict)

    @property
    def model(self) -> keras.Model:
        return self.made.model


_last: dict[tuple[bytes, StepSetup], Traced] = {}


def traced(checked: CheckedModel, setup: StepSetup, identity: bytes, report: Callable[[int, int, str], None]) -> Traced:
    """A warm worker keeps the last one: the next request often differs in the target alone."""
    key = (identity, _traced_part(setup))
    if key not in _last:
        _last.clear()
        report(1, 5, "rebuilding the model")
        made = build(checked, setup)
        optimizers = optimizers_of(made.model)
        reduction = Reduction(optimizers) if setup.replicated or _can_be_replicated(setup) else None
        report(2, 5, "tracing the training step")
        batch, prime = trace_batch(made)
        with ExitStack() as stack:
            for optimizer in optimizers:
                stack.enter_context(repeated_updates(optimizer))
            stack.enter_context(_without_stacks())
            step = trace_step(made, batch)
        meta, captured = step_graph(step)
        del step
        _last[key] = Traced(made, meta.SerializeToString(), captured, batch, prime, reduction)
        gc.collect()  # the function's graph is full of cycles
    return _last[key]


@contextmanager
def _without_stacks() -> Iterator[None]:
    """Operations don't note where in Python they were made. Nobody will ask, and it takes as long as making them."""
    create = ops._create_c_op
    ops._create_c_op = partial(create, extract_traceback=False)
    try:
        yield
    finally:
        ops._create_c_op = create


def _can_be_replicated(setup: StepSetup) -> bool:
    """Whether the reduction can be left out of the graph again: not where the update is inside a branch."""
    scaled = dict(setup.optimizer.options).get("loss_scaling")
    return setup.target != "cpu" and not setup.accumulates and not scaled


def _traced_part(setup: StepSetup) -> StepSetup:
    """What the traced function depends on; the rest is what is made of it."""
    if not _can_be_replicated(setup):
        return replace(setup, xla=False)
    return replace(setup, xla=False, replicated=False, target="gpu")
