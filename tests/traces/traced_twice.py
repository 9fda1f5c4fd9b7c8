"""Trace a step with updates repeated and with every update asked of Keras; print whether the graphs are the same.

    python traced_twice.py OPTIMIZER ...

Prints a JSON object: for each optimizer how many updates were repeated, and what differs.
"""

import json
import sys
from contextlib import nullcontext

import keras

from planner_app.core.model.setup import parse_optimizer
from planner_app.worker.build.valueless import without_values
from planner_app.worker.graph.rewrite import step_graph
from planner_app.worker.training import repeated
from planner_app.worker.training.expected import expected_feeds
from planner_app.worker.training.optimizers import make_optimizer
from planner_app.worker.training.step import trace_step
from planner_app.worker.training.trainable import Trainable

BATCH = 808


def model(optimizer: str) -> keras.Model:
    keras.utils.clear_session()
    layers = keras.layers
    with without_values():
        inputs = keras.Input((8, 8, 3))
        x = layers.BatchNormalization()(layers.Conv2D(12, 3)(inputs))
        x = layers.Conv2D(12, 3)(layers.Conv2D(12, 3)(x))
        x = layers.Dense(12)(layers.Dense(12)(layers.Flatten()(x)))
        made = keras.Model(inputs, x)
        name, _, steps = optimizer.partition(" every ")
        wanted = make_optimizer(parse_optimizer(name), accumulates=bool(steps))
        made.compile(optimizer=wanted, loss="mse", jit_compile=False)
        made.optimizer.build(made.trainable_variables)
    return made


def nodes(optimizer: str, repeat: bool) -> tuple[list[str], dict[str, str]]:
    made = model(optimizer)
    with repeated.repeated_updates(made.optimizer) if repeat else nullcontext():
        step = trace_step(Trainable(made, expected_feeds(made, {})[0]), BATCH)
    meta, captured = step_graph(step)
    graph = meta.graph_def
    functions = [list(function.node_def) for function in graph.library.function]
    for node in (*graph.node, *(node for function in functions for node in function)):
        for numbered in ("_gradient_op_type", "then_branch", "else_branch"):  # over the whole process
            node.attr.pop(numbered, None)
    inside = sorted(["".join(map(str, function)) for function in functions])
    return [*map(str, graph.node), *inside], {name: variable.name for name, variable in captured.items()}


def main() -> None:
    told = {}
    for optimizer in sys.argv[1:]:
        counted = []
        original = repeated._Updates._repeat
        repeated._Updates._repeat = lambda *given, counted=counted, original=original: (
            counted.append(1),
            original(*given),
        )
        one, other = nodes(optimizer, repeat=False), nodes(optimizer, repeat=True)
        repeated._Updates._repeat = original
        differ = [f"{a} became {b}" for a, b in zip(one[0], other[0], strict=False) if a != b]
        same = len(one[0]) == len(other[0]) and not differ and one[1] == other[1]
        told[optimizer] = {"repeated": len(counted), "same": same, "differs": differ[:1]}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
