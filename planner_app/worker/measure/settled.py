"""A step's graph whose kernels start in the same order in every process.

The executor starts what is ready first in, first out. Who becomes ready first when a node with many consumers is done
is left to chance, though: beyond eight, graph/edgeset.h keeps a node's edges in a table hashed by their addresses, and
the executor takes them in that order. Every node without inputs is such a consumer, of the graph's source. So the same
step's peak wandered by up to one percent between processes, and its place in memory with it.

Here a node without inputs is made as often as it takes for none to have more than eight consumers, and a tree of nodes
that do nothing starts them all, one after the other, before anything else runs. Consumers of another node that has many
wait for a tree of their own, which hangs on that node and so is in the same turn of the same loop as they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.grappler import cluster, tf_optimizer

from planner_app.worker.graph.crowding import CPU_MEMORY_BYTES
from planner_app.worker.graph.rewrite import CPU, device_properties

MOST = 8  # edgeset.h: kInline, 64 bytes of pointers
SCOPE = "in_order"
COPIED_BYTES = 1024  # a constant above this is not a scalar or shape: it is made once


def optimized(meta: Any) -> Any:
    """The graph that a session would run: its Grappler has this CPU device before it, with what memory it claims."""
    for node in meta.graph_def.node:
        node.device = CPU
    device = device_properties(CPU, "CPU", {})
    device.properties.memory_size = CPU_MEMORY_BYTES
    devices = cluster.Cluster(devices=[device])
    options = config_pb2.ConfigProto()
    try:
        return tf_optimizer.OptimizeGraph(options, meta, verbose=False, cluster=devices)
    except tf.errors.UnimplementedError:  # as when a step is traced: eight-bit floating point types
        options.graph_options.rewrite_options.disable_tfg_optimizer = True
        return tf_optimizer.OptimizeGraph(options, meta, verbose=False, cluster=devices)


def settled(graph: Any) -> Any:
    """The same graph, its nodes started in the order they have in it."""
    out = graph_pb2.GraphDef(versions=graph.versions, library=graph.library)
    _start(out, list(_copied(graph.node, out)), f"{SCOPE}/start")
    for name, waiting in _crowds(out).items():
        first = _start(out, waiting, f"{name}/{SCOPE}", MOST)
        first.input.append(f"^{name}")
    return out


def session_options() -> Any:
    """The graph is rewritten already: a second time would undo the order."""
    options = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=1)
    options.graph_options.rewrite_options.disable_meta_optimizer = True
    return options


def _copied(nodes: Sequence[Any], out: Any) -> Iterator[Any]:
    """Every node into `out`, those without inputs as often as their consumers need. Gives these."""
    consumers = Counter(_name(text) for node in nodes for text in node.input)
    copies = {node.name: -(-consumers[node.name] // MOST) for node in nodes if not node.input and _is_small(node)}
    taken = Counter[str]()
    for node in nodes:
        for number in range(max(1, copies.get(node.name, 1))):
            copy = out.node.add()
            copy.CopyFrom(node)
            copy.name = _numbered(node.name, number)
            if not node.input:
                yield copy
        for number, text in enumerate(node.input):
            name = _name(text)
            if name in copies:
                copy.input[number] = _numbered(text, taken[name] // MOST)
                taken[name] += 1


def _start(out: Any, waiting: list[Any], scope: str, width: int = 1) -> Any:
    """A tree of nodes that do nothing, above those that wait; gives its top.

    At its foot there is one for each root, so that no two roots are the same to TensorFlow, which would merge them.
    """
    level = 0
    while True:
        parents: list[Any] = []
        for first in range(0, len(waiting), width):
            parents.append(out.node.add(name=f"{scope}/{level}_{len(parents)}", op="NoOp", device=CPU))
            for child in waiting[first : first + width]:
                child.input.append(f"^{parents[-1].name}")
        if len(parents) <= 1:
            return parents[0]
        waiting, level, width = parents, level + 1, MOST


def _crowds(out: Any) -> dict[str, list[Any]]:
    """The consumers of each node that has too many, each consumer once."""
    consumers: dict[str, dict[str, Any]] = defaultdict(dict)
    edges = Counter(_name(text) for node in out.node for text in node.input)
    for node in out.node:
        for name in map(_name, node.input):
            if edges[name] > MOST:
                consumers[name][node.name] = node
    return {name: list(nodes.values()) for name, nodes in consumers.items()}


def _is_small(node: Any) -> bool:
    return node.op == "VarHandleOp" or (node.op == "Const" and int(node.ByteSize()) < COPIED_BYTES)


def _numbered(text: str, number: int) -> str:
    """The name of a copy; a control input keeps its mark, an output its number."""
    if number == 0:
        return text
    name, colon, port = text.partition(":")
    return f"{name}/{SCOPE}_{number}{colon}{port}"


def _name(text: str) -> str:
    return text.lstrip("^").partition(":")[0]
