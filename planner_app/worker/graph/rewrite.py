"""The step as the graph that would run: variables by name, rewritten by Grappler for a device that may not be there."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import config_pb2, device_properties_pb2, meta_graph_pb2, rewriter_config_pb2
from tensorflow.python.grappler import _pywrap_tf_optimizer, cluster

from planner_app.errors import ModelError
from planner_app.worker.training.front_end import arrives

TASK = "/job:localhost/replica:0/task:0"
CPU = f"{TASK}/device:CPU:0"
GPU = f"{TASK}/device:GPU:0"
INPUT_PREFIX = "input_"
FUNCTIONAL = frozenset({"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"})
MOST_FILLED = 100e6  # elements of a mask that Grappler may compute with: a model has one in each of its blocks
LARGE_ELEMENTS = 1024  # tensors from outside that are data, not numbers: they lie there as inputs do


def step_graph(step: Any) -> tuple[Any, dict[str, Any]]:
    """The traced step with its variables and inputs as resources, ready for Grappler.

    Returns the graph with what has to run, and the captured variable behind each resource.
    """
    graph = step.graph.as_graph_def()
    captured = {inner.op.name: outer for outer, inner in step.graph.captures}
    by_handle = {id(variable.handle): variable for variable in step.graph.variables}
    arguments = {t.op.name: t for t in step.graph.inputs if t.op.name not in captured}
    variables: dict[str, Any] = {}
    for node in list(graph.node):
        if node.name in arguments:
            _read_input(graph, node, arguments[node.name])
        elif node.name in captured and captured[node.name].dtype == tf.resource:
            variables[node.name] = variable = _variable(captured[node.name], by_handle)
            _make_handle(node, node.name, variable.dtype, variable.shape)
        elif node.name in captured and not hasattr(captured[node.name], "numpy"):
            raise ModelError(
                f"The training step uses {captured[node.name].name!r}, which was computed in another graph: TensorFlow "
                "does not train such a model either. Build the layer that keeps it before training."
            )
        elif node.name in captured and _is_data(captured[node.name]):
            variables[INPUT_PREFIX + node.name] = captured[node.name]
            _read_input(graph, node, captured[node.name])
        elif node.name in captured:
            _make_constant(node, captured[node.name])
    run = [o.name for o in step.graph.get_operations() if o.type.startswith("Assign")]
    run += [t.op.name for t in step.graph.outputs] + [o.name for o in step.graph.control_outputs]
    run += [name for name in arguments if not step.graph.get_operation_by_name(name).outputs[0].consumers()]
    return meta_graph(graph, list(dict.fromkeys(run))), variables


def _is_data(captured: Any) -> bool:
    return arrives(captured) or captured.shape.num_elements() >= LARGE_ELEMENTS


def _open_loops(graph: Any) -> None:
    """Loops and branches that a kernel runs as a whole (CTC's loss has some) are followed like all others."""
    for node in (*graph.node, *(node for function in graph.library.function for node in function.node_def)):
        if node.op in FUNCTIONAL:
            node.attr["_lower_using_switch_merge"].b = True


def _variable(handle: Any, by_handle: dict[int, Any]) -> Any:
    if id(handle) not in by_handle:
        raise ModelError(
            "The training step uses a resource of TensorFlow's that is not a variable (a lookup table, say) outside of "
            "Keras' own layers, so it can't be estimated: use keras.layers.StringLookup or IntegerLookup instead."
        )
    return by_handle[id(handle)]


def meta_graph(graph: Any, run: list[str]) -> Any:
    meta = meta_graph_pb2.MetaGraphDef(graph_def=graph)
    meta.collection_def["train_op"].node_list.value.extend(run)
    return meta


def _read_input(graph: Any, node: Any, argument: Any) -> None:
    """An input lies on the device before the step starts, as a variable does."""
    handle = graph.node.add(name=INPUT_PREFIX + node.name)
    _make_handle(handle, handle.name, argument.dtype, argument.shape)
    node.op = "ReadVariableOp"
    node.ClearField("attr")
    node.input.append(handle.name)
    node.attr["dtype"].type = argument.dtype.as_datatype_enum


def _make_handle(node: Any, name: str, dtype: Any, shape: Any) -> None:
    node.op = "VarHandleOp"
    node.ClearField("attr")
    node.attr["dtype"].type = dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(shape.as_proto())
    node.attr["shared_name"].s = name.encode()
    node.attr["container"].s = b""


def _make_constant(node: Any, value: Any) -> None:
    node.op = "Const"
    node.ClearField("attr")
    node.attr["dtype"].type = value.dtype.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value.numpy()))


def rewritten(meta: Any, target: str, xla: bool = False) -> Any:
    """What Grappler makes of the graph, which it takes apart, for "cpu" or for the compute capability of "gpu:8.0".

    XLA takes the graph as it is and does the rest in its own way: only functions are inlined and dead ends cut off.
    """
    kind, _, capability = target.partition(":")
    if xla and not meta.graph_def.library.function:
        return _pruned(meta)
    if xla:
        _open_programs(meta.graph_def)
    _open_loops(meta.graph_def)
    for node in meta.graph_def.node:
        node.device = CPU if kind == "cpu" else GPU
    options = config_pb2.ConfigProto()
    options.graph_options.rewrite_options.min_graph_nodes = -1
    if xla:
        for rewrite in ("layout_optimizer", "remapping", "arithmetic_optimization", "loop_optimization"):
            setattr(options.graph_options.rewrite_options, rewrite, rewriter_config_pb2.RewriterConfig.OFF)
    if _fills_much(meta.graph_def):
        options.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
    devices = [device_properties(CPU, "CPU", {})]
    if kind == "gpu":
        environment = {"architecture": capability or "8.0", "cuda": "12050", "cudnn": "9030"}
        devices.append(device_properties(GPU, "GPU", environment))
        # A second round, as TensorFlow has it, took a third more time and changed live bytes by less than 0.001 % on
        # ResNet50, EfficientNetB0 and a transformer.
        options.graph_options.rewrite_options.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.ONE
        # memory_optimizer.cc: with so much memory it would only mark assignments whose allocator may be any, and take a
        # quarter of the time for it.
        options.graph_options.rewrite_options.memory_optimization = rewriter_config_pb2.RewriterConfig.NO_MEM_OPT
    return _optimized(options, meta, cluster.Cluster(devices=devices))


def _fills_much(graph: Any) -> bool:
    """Whether there is a mask over a whole batch. Folding would fill it here, and what is computed from it, only to
    find that it is too large to keep. With batches of open size TensorFlow has nothing to fold there either."""
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
        constants = {node.name: node for node in nodes if node.op == "Const"}
        for node in nodes:
            is_mask = node.op == "Fill" and not tf.as_dtype(node.attr["T"].type).is_floating
            dims = constants.get(node.input[0].partition(":")[0]) if is_mask else None
            if dims is not None and tf.make_ndarray(dims.attr["value"].tensor).prod(dtype=float) > MOST_FILLED:
                return True
    return False


def _open_programs(graph: Any) -> None:
    """What is compiled by itself elsewhere is part of the one program here: its functions may be inlined."""
    for function in graph.library.function:
        if function.attr.pop("_XlaMustCompile", None) is not None:
            function.attr.pop("_noinline", None)
    for node in (*graph.node, *(node for function in graph.library.function for node in function.node_def)):
        node.attr.pop("_XlaMustCompile", None)


def _optimized(options: Any, meta: Any, devices: Any) -> Any:
    """tf_optimizer.OptimizeGraph, without a second copy of the graph while Grappler works on its own."""
    wanted = meta.SerializeToString()
    meta.graph_def.Clear()

    def optimized() -> Any:
        return _pywrap_tf_optimizer.TF_OptimizeGraphSerialized(
            devices.tf_cluster, options.SerializeToString(), wanted, False, "step", False
        )

    try:
        found = optimized()
    except tf.errors.UnimplementedError:  # its part in MLIR can't write eight-bit floating point types
        options.graph_options.rewrite_options.disable_tfg_optimizer = True
        found = optimized()
    graph = graph_pb2.GraphDef()
    graph.ParseFromString(found)
    return graph


def _pruned(meta: Any) -> Any:
    """What the step needs to run, and nothing else."""
    nodes = {node.name: node for node in meta.graph_def.node}
    wanted = list(meta.collection_def["train_op"].node_list.value)
    needed: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in needed:
            needed.add(name)
            wanted.extend(text.lstrip("^").partition(":")[0] for text in nodes[name].input)
    graph = graph_pb2.GraphDef(versions=meta.graph_def.versions)
    graph.node.extend(node for node in meta.graph_def.node if node.name in needed)
    return graph


def device_properties(name: str, kind: str, environment: dict[str, str]) -> Any:
    # The size is so large that the memory optimizer has no reason to act; under tf.function it does not act either.
    properties = device_properties_pb2.DeviceProperties(
        type=kind, frequency=1400, num_cores=2 if kind == "CPU" else 108, memory_size=1 << 50, bandwidth=20_000_000
    )
    for key, value in environment.items():
        properties.environment[key] = value
    return device_properties_pb2.NamedDevice(name=name, properties=properties)
