"""Model and setup to `StepTrace` on JAX: the step's jaxpr, as the model of fusion reads operations.

A jaxpr has the shapes of the whole batch. What a mesh cuts is worked out here the way XLA's partitioner mostly does:
the batch over the data axis, and along the model axis what is computed from a weight that is cut there. How it is
really cut, the compiler says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import msgspec

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import NEWEST, StepSetup
from planner_app.core.model.trace import StepTrace
from planner_app.core.sharding.arrangement import ModelState
from planner_app.core.sharding.layout import REPLICATED
from planner_app.core.sharding.mesh import ONE_GPU
from planner_app.jobs import protocol
from planner_app.worker.importing import quickly

Report = Callable[[int, int, str], None]
SIXTEEN_BITS = ("float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class _Traced:
    """A step before it lies on a mesh; kept by a warm worker, which is asked about many meshes."""

    identity: bytes
    state: ModelState
    made: Any
    given: Any
    jaxpr: Any
    batch: int
    prime: int


_kept: list[_Traced] = []


def trace(request: protocol.Trace, report: Report) -> StepTrace:
    report(0, 4, "importing JAX")
    with quickly():
        import keras  # noqa: F401

        from planner_app.worker.jax.follow import Follower
        from planner_app.worker.jax.naming import Names

    mesh, layout = request.setup.mesh, request.setup.layout
    anywhere = replace(request.setup, mesh=ONE_GPU, layout=REPLICATED, replicated=False, target=NEWEST)
    traced = _traced(request.model, anywhere, report)
    report(3, 4, "following the step")
    follower = Follower(Names(traced.made.model), traced.batch, traced.prime, mesh, request.setup.capability)
    for each in traced.state.on(mesh, layout).variables:
        follower.variable(each.variable.path, each.variable.layer, each.variable.role, each)
    for number, spec in enumerate(_leaves(traced.given.data)):
        follower.input(f"input_{number}", spec)
    follower.follow(traced.jaxpr)
    return follower.trace(traced.made, _warnings(traced.made))


def _traced(model: CheckedModel, setup: StepSetup, report: Report) -> _Traced:
    from planner_app.worker.jax import step
    from planner_app.worker.jax.state import state_for
    from planner_app.worker.training.trainable import trace_batch

    identity = sha256(msgspec.json.encode((model, setup))).digest()
    if _kept and _kept[0].identity == identity:
        return _kept[0]
    report(1, 4, "rebuilding the model")
    state = state_for(model, setup)
    made = step.build(model, setup)
    batch, prime = trace_batch(made)
    report(2, 4, "tracing the training step")
    given = step.arguments(made, batch)
    _kept[:] = [_Traced(identity, state, made, given, step.trace(made, given).jaxpr, batch, prime)]
    return _kept[0]


def _leaves(data: Any) -> list[Any]:
    import jax

    return list(jax.tree.leaves(data))


def _warnings(made: Any) -> tuple[str, ...]:
    import keras

    attention = (keras.layers.MultiHeadAttention, keras.layers.GroupQueryAttention)
    layers = (layer for layer in made.model._flatten_layers() if isinstance(layer, attention))
    if any(layer.compute_dtype in SIXTEEN_BITS for layer in layers):
        return (
            "Keras uses cuDNN's flash attention on JAX in sixteen bits on Ampere and newer GPUs if it finds cuDNN: "
            "counted without, which takes more memory.",
        )
    return ()
