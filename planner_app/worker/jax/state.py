"""The state of a training step on JAX: every variable with its shape, and whose place it takes on a mesh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import StepSetup
from planner_app.core.model.trace import Role
from planner_app.core.sharding.arrangement import ModelState
from planner_app.core.sharding.layout import LayoutName, Rule
from planner_app.core.sharding.mesh import BATCH, MODEL
from planner_app.core.sharding.placement import StateVariable
from planner_app.jobs import protocol
from planner_app.worker.importing import quickly

Report = Callable[[int, int, str], None]

FINISHED_AT = 8  # samples that metrics are built with


def state(request: protocol.ShardedState, report: Report) -> ModelState:
    report(0, 2, "importing JAX")
    with quickly():
        import keras  # noqa: F401

    report(1, 2, "rebuilding the model")
    return state_for(request.model, request.setup)


def state_for(checked: CheckedModel, setup: StepSetup) -> ModelState:
    from planner_app.worker.jax import step
    from planner_app.worker.jax.distribution import Marking, distributed
    from planner_app.worker.jax.naming import Names

    with distributed(Marking()):
        made = step.build(checked, setup)
        step.finish(made, made.feed.batch or FINISHED_AT)
    names = Names(made.model)
    weights, others, slots, metrics = step.variables(made.model)
    marks = {id(each._layout): each.path for each in (*weights, *others)}
    found = [_variable(each, Role.WEIGHT, names) for each in weights]
    found += [_variable(each, Role.FROZEN, names) for each in others]
    found += [_variable(each, Role.OPTIMIZER, names, marks.get(id(each._layout), "")) for each in slots]
    found += [_variable(each, Role.METRIC, names) for each in metrics]
    return ModelState(tuple(found), own_rules(made.model))


def laid_out(checked: CheckedModel, setup: StepSetup) -> StepSetup:
    """The setup with the rules of its layout: made for the model, which is built once to see its variables."""
    if setup.mesh.gpus == 1 or setup.layout.name is LayoutName.DATA:
        return setup
    placed = state_for(checked, setup).on(setup.mesh, setup.layout)  # in a sentence what Keras stumbles over
    return replace(setup, layout=placed.layout)


def _variable(variable: Any, role: Role, names: Any, like: str = "") -> StateVariable:
    import jax
    import numpy as np

    dtype = jax.dtypes.canonicalize_dtype(variable.dtype)
    return StateVariable(
        path=variable.path,
        shape=tuple(variable.shape),
        dtype=str(dtype),
        item_bytes=np.dtype(dtype).itemsize,
        role=role,
        layer=names.owner(like or variable.path),
        like=like,
    )


def own_rules(model: Any) -> tuple[Rule, ...] | None:
    """`get_layout_map` of the model, or of the part of it that has one; it is told of a mesh and gives patterns."""
    import keras
    import numpy as np

    for part in model._flatten_layers():
        maker = getattr(type(part), "get_layout_map", None)
        if maker is None:
            continue
        mesh = keras.distribution.DeviceMesh((1, 1), (BATCH, MODEL), devices=np.array(["cpu:0"]))
        rules = maker(mesh, model_parallel_dim_name=MODEL, data_parallel_dim_name=BATCH)
        return tuple(Rule(str(pattern), tuple(rules[pattern].axes)) for pattern in rules)
    return None
