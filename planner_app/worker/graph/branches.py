"""Branches of Keras' own whose condition is known only when the step runs, told by how the condition is computed."""

from __future__ import annotations

from collections.abc import Collection

from planner_app.worker.graph.nodes import Graph, Node
from planner_app.worker.kernels.forwarding import ALIAS


def is_turn(switch: Node, graph: Graph) -> bool:
    """base_optimizer.py: `(iterations + 1) % gradient_accumulation_steps == 0`."""
    condition = _condition(switch, graph, ALIAS)
    return condition.type == "Equal" and "FloorMod" in _input_types(condition, graph)


def looks_for_nan(switch: Node, graph: Graph) -> bool:
    """sparse.py, elementwise_division: are there zeros or NaN in what is divided by?

    Optimizers divide by a root of squares to which an epsilon was added: in a step that trains there are none.
    """
    condition = _condition(switch, graph, {*ALIAS, "Any"})
    return condition.type == "LogicalOr" and "IsNan" in _input_types(condition, graph)


def _condition(switch: Node, graph: Graph, passed_on: Collection[str]) -> Node:
    condition = graph.nodes[switch.inputs[1][0]]
    while condition.type in passed_on:
        condition = graph.nodes[condition.inputs[0][0]]
    return condition


def _input_types(node: Node, graph: Graph) -> set[str]:
    return {graph.nodes[number].type for number, _ in node.inputs}
