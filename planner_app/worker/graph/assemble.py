"""The pieces of a trace put together: graph, unrolled operations, variables, sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from planner_app.core.model.setup import StepSetup
from planner_app.core.model.trace import Constant, Phase, Role, Size, Source, StepTrace, Variable
from planner_app.core.replay.allocate import live
from planner_app.core.replay.liveness import folded_values, replay
from planner_app.worker.graph.attribution import Attribution
from planner_app.worker.graph.crowding import crowded_sums
from planner_app.worker.graph.nodes import Graph
from planner_app.worker.graph.rewrite import INPUT_PREFIX, meta_graph, rewritten
from planner_app.worker.graph.shapes import LARGEST_OF_DATA
from planner_app.worker.graph.small_batches import small_batches
from planner_app.worker.graph.unroll import Unroller
from planner_app.worker.kernels.reductions import channels_first, column_rows
from planner_app.worker.kernels.workspace import workspace
from planner_app.worker.training.front_end import arrives
from planner_app.worker.training.replicas import SCOPE as REDUCTION
from planner_app.worker.training.shared_step import Traced

# sizeof(ResourceHandle): the handle of each variable is a tensor of its own in the CPU's memory.
HANDLE_BYTES = 200
MOST_KEPT_NODES = 30_000  # a graph takes some kilobytes for each


def assemble(traced: Traced, setup: StepSetup, report: Callable[[int, int, str], None]) -> StepTrace:
    report(3, 5, "rewriting the graph for the device")
    meta = _step(traced, setup)
    run = list(meta.collection_def["train_op"].node_list.value)
    graph = _graph(traced, meta, setup)
    report(4, 5, "following the step")
    names = Attribution(traced.model)
    trace = _trace_of(graph, traced, setup, names, run)
    small = None if setup.xla else small_batches(lambda: _step(traced, setup), graph, setup.target)
    if small is not None:
        other = _trace_of(small[0], traced, setup, names, run)
        if _sizes(other) == _sizes(trace):  # or some size was taken for the small batch, and is none
            trace = replace(trace, small=other, small_up_to=small[1])
    return trace


def _sizes(trace: StepTrace) -> dict[str, Size]:
    return {variable.name: trace.sizes[variable.size] for variable in trace.variables}


def _step(traced: Traced, setup: StepSetup) -> Any:
    """The graph of the step before anything is rewritten."""
    meta = meta_graph_pb2.MetaGraphDef.FromString(traced.step)
    if traced.reduction and not setup.replicated:
        traced.reduction.leave_out(meta)
    return meta


def _trace_of(graph: Graph, traced: Traced, setup: StepSetup, names: Attribution, run: list[str]) -> StepTrace:
    turned = channels_first(graph)
    sources = tuple(
        Source(
            n.name, n.type, names.layer(n.name), names.phase(n.name), column_rows(graph, n, turned), workspace(graph, n)
        )
        for n in graph.nodes
    )
    variables = _variables(graph, traced.captured, names)
    for node in graph.nodes:
        if node.type == "VarHandleOp":
            node.constant = _integers(traced.captured.get(node.name))
    if setup.replicated and graph.on_gpu:
        # OwnedMultiDeviceIterator with a device-side prefetch of one: the next batch is there before this one is done.
        ahead = {f"prefetched_{name}": entry for name, entry in variables.items() if entry[2] is Role.INPUT}
        variables |= ahead
    trace = _followed(graph, sources, variables, take_turns=not setup.xla)
    if setup.target == "cpu" and not setup.xla:
        trace = _with_crowding(trace, graph, meta_graph(graph.definition, run))
    return replace(trace, layers=names.layers, xla=setup.xla, only_batch=traced.made.feed.batch or 0)


def _graph(traced: Traced, meta: Any, setup: StepSetup) -> Graph:
    """What runs. XLA gets the same for every GPU."""
    if setup.xla and setup.replicated in traced.compiled:
        return traced.compiled[setup.replicated].on(setup.target)
    definition = rewritten(meta, setup.target, setup.xla)
    graph = Graph(definition, traced.batch, traced.prime, setup.target, setup.xla)
    if setup.xla and len(graph.nodes) <= MOST_KEPT_NODES:
        traced.compiled[setup.replicated] = graph
    return graph


def _with_crowding(trace: StepTrace, graph: Graph, meta: Any) -> StepTrace:
    """The zeros onto which sums are added up one by one when the CPU's memory seems short."""
    crowded = crowded_sums(meta, graph.batch, graph.prime)
    makes = {
        graph.nodes[operation.source].name: operation.makes[0] for operation in trace.operations if operation.makes
    }
    zeros = tuple(Constant(trace.values[makes[name]].size, first) for name, first in crowded.items() if name in makes)
    return replace(trace, constants=trace.constants + zeros)


def _followed(
    graph: Graph, sources: tuple[Source, ...], variables: dict[str, tuple[Any, Any, Role, str]], take_turns: bool
) -> StepTrace:
    """Both ways of a branch whose condition is known only when the step runs: the larger one is kept.

    A branch that is taken every so many steps makes two kinds of them, and both are kept where steps `take_turns`:
    what one leaves behind in the allocator's pool, the other finds.
    """

    def run(**ways: Any) -> Unroller:
        unroller = Unroller(graph, variables, **ways)
        unroller.run()
        return unroller

    def larger(first: Unroller, **ways: Any) -> Unroller:
        return max(first, run(**ways), key=lambda unroller: _live_bytes(_as_trace(graph, sources, unroller)))

    found = run()
    if found.undecided:
        found = larger(found, assume=False)
    if not found.takes_turns:
        return _as_trace(graph, sources, found)
    if not take_turns:
        return _as_trace(graph, sources, larger(found, assume=found.assume, turn=False))
    adding = run(assume=found.assume, turn=False, after=found)
    found.sparse = adding.sparse = found.sparse | adding.sparse  # copied when it is read, whichever step does
    return _as_trace(graph, sources, found, adding)


def _as_trace(
    graph: Graph, sources: tuple[Source, ...], unroller: Unroller, adding: Unroller | None = None
) -> StepTrace:
    operations, added = unroller.finished(), adding.finished() if adding else ()
    constants = [
        graph.size(shape, node.dtypes[0])
        for node in graph.nodes
        if node.type == "Const" and (shape := node.shapes[0]) is not None
    ]
    handles = 0 if graph.on_gpu else HANDLE_BYTES * len(unroller.variables)
    return StepTrace(
        sources=_with_updated_layers(sources, (*operations, *added), unroller.variables),
        operations=operations,
        values=tuple(unroller.values),
        variables=unroller.variables,
        adding=added,
        constant_bytes=handles + sum(size.constant for size in constants),
        constants=tuple(Constant(unroller.size_index(size)) for size in constants if not size.constant),
        sizes=tuple(unroller.sizes),
        warnings=tuple(unroller.warnings),
    )


def _live_bytes(trace: StepTrace) -> int:
    batch = 32  # a common one; branches differ in updates, which don't grow with it
    return live(trace, replay(trace, folded_values(trace, batch)), batch)[0]


def _integers(captured: Any) -> Any:
    """What a tensor from outside holds, where it may steer the step (the edges of a graph, say); no step changes it."""
    steers = isinstance(captured, tf.Tensor) and captured.dtype.is_integer and not arrives(captured)
    return captured.numpy() if steers and captured.shape.num_elements() <= LARGEST_OF_DATA else None


def _variables(graph: Graph, captured: dict[str, Any], names: Attribution) -> dict[str, tuple[Any, Any, Role, str]]:
    """In the order in which the step first uses them, which is that in which they get their values; inputs last."""
    found = {}
    for node in graph.nodes:
        if node.type != "VarHandleOp":
            continue
        dtype = tf.as_dtype(node.definition.attr["dtype"].type)
        shape = tuple(tf.TensorShape(node.definition.attr["shape"].shape).as_list())
        if node.name.startswith(INPUT_PREFIX) and not isinstance(captured.get(node.name), tf.Variable):
            found[node.name] = (shape, dtype, Role.INPUT, "")
        else:
            variable = captured[node.name]
            found[node.name] = (shape, dtype, names.role(variable), names.owner(variable))
    first = {name: place for place, name in enumerate(captured)}
    return dict(sorted(found.items(), key=lambda entry: first.get(entry[0], len(first))))


def _with_updated_layers(
    sources: tuple[Source, ...], operations: tuple[Any, ...], variables: tuple[Variable, ...]
) -> tuple[Source, ...]:
    """An update belongs to the layer whose variable it ends in."""
    layers = [source.layer for source in sources]
    for operation in reversed(operations):
        place = operation.source
        if layers[place] or sources[place].phase is not Phase.UPDATE or sources[place].name.startswith(f"{REDUCTION}/"):
            continue
        if operation.variable >= 0:
            layers[place] = variables[operation.variable].layer
        else:
            following = (layers[operations[then].source] for then in operation.then)
            layers[place] = next((layer for layer in following if layer), "")
    return tuple(
        source if source.layer == layer else replace(source, layer=layer)
        for source, layer in zip(sources, layers, strict=True)
    )
