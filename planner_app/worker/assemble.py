"""The pieces of a trace put together: graph, unrolled operations, variables, sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from planner_app.core.setup import StepSetup
from planner_app.core.trace import Phase, Role, Source, StepTrace, Variable
from planner_app.worker.attribution import Attribution
from planner_app.worker.graph import Graph
from planner_app.worker.rewrite import INPUT_PREFIX, rewritten, step_graph
from planner_app.worker.unroll import Unroller

# sizeof(ResourceHandle): the handle of each variable is a tensor of its own in the CPU's memory.
HANDLE_BYTES = 200


def assemble(
    model: keras.Model, step: Any, setup: StepSetup, batch: int, prime: int, report: Callable[[int, int, str], None]
) -> StepTrace:
    report(3, 5, "rewriting the graph for the device")
    session_graph, run, captured = step_graph(step)
    graph = Graph(rewritten(session_graph, run, setup.target), batch, prime, setup.target)
    report(4, 5, "following the step")
    names = Attribution(model)
    unroller = _unrolled(graph, captured, names)
    sources = tuple(Source(n.name, n.type, names.layer(n.name), names.phase(n.name)) for n in graph.nodes)
    operations = unroller.finished()
    handles = HANDLE_BYTES * len(unroller.variables) if setup.target == "cpu" else 0
    return StepTrace(
        sources=_with_updated_layers(sources, operations, unroller.variables),
        operations=operations,
        values=tuple(unroller.values),
        sizes=tuple(unroller.sizes),
        variables=unroller.variables,
        constant_bytes=sum(graph.bytes_of_constant(n) for n in graph.nodes) + handles,
        warnings=tuple(unroller.warnings),
    )


def _unrolled(graph: Graph, captured: dict[str, Any], names: Attribution) -> Unroller:
    """Branches whose condition is known only when the step runs are taken the way that needs more memory.

    Which one that is can't be told from the graph, so both are followed; the one that makes more tensors is kept.
    """
    taken = Unroller(graph, _variables(graph, captured, names), assume=True)
    taken.run()
    if not taken.undecided:
        return taken
    other = Unroller(graph, _variables(graph, captured, names), assume=False)
    other.run()
    return max(taken, other, key=lambda unroller: unroller.made_bytes)


def _variables(graph: Graph, captured: dict[str, Any], names: Attribution) -> dict[str, tuple[Any, Any, Role, str]]:
    found = {}
    for node in graph.nodes:
        if node.type != "VarHandleOp":
            continue
        dtype = tf.as_dtype(node.definition.attr["dtype"].type)
        shape = tuple(tf.TensorShape(node.definition.attr["shape"].shape).as_list())
        if node.name.startswith(INPUT_PREFIX) and node.name not in captured:
            found[node.name] = (shape, dtype, Role.INPUT, "")
        else:
            variable = captured[node.name]
            found[node.name] = (shape, dtype, names.role(variable), names.owner(variable))
    return found


def _with_updated_layers(
    sources: tuple[Source, ...], operations: tuple[Any, ...], variables: tuple[Variable, ...]
) -> tuple[Source, ...]:
    """An update belongs to the layer whose variable it ends in."""
    layers = [source.layer for source in sources]
    for operation in reversed(operations):
        place = operation.source
        if layers[place] or sources[place].phase is not Phase.UPDATE:
            continue
        if operation.variable >= 0:
            layers[place] = variables[operation.variable].layer
        else:
            following = (layers[operations[then].source] for then in operation.then)
            layers[place] = next((layer for layer in following if layer), "")
    return tuple(
        source if source.layer == layer else Source(source.name, source.type, layer, source.phase)
        for source, layer in zip(sources, layers, strict=True)
    )


