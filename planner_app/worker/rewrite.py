"""The step as the graph that would run: variables by name, rewritten by Grappler for a device that may not be there."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, device_properties_pb2, rewriter_config_pb2
from tensorflow.python.grappler import cluster, tf_optimizer

TASK = "/job:localhost/replica:0/task:0"
CPU = f"{TASK}/device:CPU:0"
GPU = f"{TASK}/device:GPU:0"
INPUT_PREFIX = "input_"


def step_graph(step: Any) -> tuple[tf.Graph, list[str], dict[str, Any]]:
    """The traced step with its variables and inputs as resources of the graph.

    Returns the graph, the names of what has to run, and the captured variable behind each resource.
    """
    definition = step.graph.as_graph_def()
    captured = {inner.op.name: outer for outer, inner in step.graph.captures}
    by_handle = {id(variable.handle): variable for variable in step.graph.variables}
    arguments = {t.op.name: t for t in step.graph.inputs if t.op.name not in captured}
    variables: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    for node in definition.node:
        outer = captured.get(node.name)
        if outer is None:
            continue
        if outer.dtype == tf.resource:
            variables[node.name] = variable = by_handle[id(outer)]
            _make_handle(node, variable)
        else:
            constants[node.name] = outer.numpy()
    run = [o.name for o in step.graph.get_operations() if o.type.startswith("Assign")]
    run += [t.op.name for t in step.graph.outputs] + [o.name for o in step.graph.control_outputs]
    graph = tf.Graph()
    with graph.as_default():
        inputs = {f"{name}:0": tf.constant(value) for name, value in constants.items()}
        for name, argument in arguments.items():
            handle = tf.raw_ops.VarHandleOp(
                dtype=argument.dtype, shape=argument.shape, shared_name=INPUT_PREFIX + name, name=INPUT_PREFIX + name
            )
            inputs[f"{name}:0"] = tf.raw_ops.ReadVariableOp(resource=handle, dtype=argument.dtype)
        tf.import_graph_def(definition, name="", input_map=inputs)
    return graph, list(dict.fromkeys(run)), variables


def _make_handle(node: Any, variable: Any) -> None:
    node.op = "VarHandleOp"
    node.ClearField("attr")
    node.attr["dtype"].type = variable.dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
    node.attr["shared_name"].s = node.name.encode()
    node.attr["container"].s = b""


def rewritten(graph: tf.Graph, run: list[str], target: str, xla: bool = False) -> Any:
    """What Grappler makes of the graph for the target: "cpu", or "gpu:8.0" for a compute capability.

    For XLA only functions are inlined and dead ends cut off: it does the rest in its own way.
    """
    kind, _, capability = target.partition(":")
    for operation in graph.get_operations():
        operation._set_device(CPU if kind == "cpu" else GPU)
    with graph.as_default():
        wanted = graph.get_collection_ref("train_op")
        wanted.extend(graph.get_operation_by_name(name) for name in run)
        meta = tf.compat.v1.train.export_meta_graph(graph=graph)
    options = config_pb2.ConfigProto()
    options.graph_options.rewrite_options.min_graph_nodes = -1
    if xla:
        for rewrite in ("layout_optimizer", "remapping", "arithmetic_optimization", "loop_optimization"):
            setattr(options.graph_options.rewrite_options, rewrite, rewriter_config_pb2.RewriterConfig.OFF)
    devices = [device_properties(CPU, "CPU", {})]
    if kind == "gpu":
        devices.append(
            device_properties(GPU, "GPU", {"architecture": capability or "8.0", "cuda": "12050", "cudnn": "9030"})
        )
    return tf_optimizer.OptimizeGraph(options, meta, verbose=False, cluster=cluster.Cluster(devices=devices))


def device_properties(name: str, kind: str, environment: dict[str, str]) -> Any:
    # The size is so large that the memory optimizer has no reason to act; under tf.function it does not act either.
    properties = device_properties_pb2.DeviceProperties(
        type=kind, frequency=1400, num_cores=2 if kind == "CPU" else 108, memory_size=1 << 50, bandwidth=20_000_000
    )
    for key, value in environment.items():
        properties.environment[key] = value
    return device_properties_pb2.NamedDevice(name=name, properties=properties)
