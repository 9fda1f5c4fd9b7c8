"""What a step takes when its kernels run as on a GPU: one after the other, from one first-in-first-out queue.

A session whose thread pool is -1 runs every kernel on the thread that made it ready, which is how the executor treats
GPU kernels. The order then repeats from process to process, and with it `live_bytes`, to the byte.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from allocations import STEP, figures, read
from cases import Case
from training import arrays, compiled, one_or_list

from planner_app.worker.valueless import SMALLEST_WITHOUT_VALUE, without_values

STEPS = 4  # the first rewrites the graph, the second finds the variables where the first left them; two to compare
INPUT = "input_"


def inline(file: Path, case: Case, events: Path | None = None) -> dict[str, Any]:
    with without_values():  # the session below holds the only copy of the variables
        model = compiled(file, case)
        model.optimizer.build(model.trainable_variables)
        step = _traced(model, case.batch)
    definition, values, constants = _with_resources(step)
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)  # before the first variable gets its value: every allocation is seen
        peaks = _peaks(step, definition, values, constants, model, case.batch)
        tf.profiler.experimental.stop()
        allocations = read(Path(folder))
    if events is not None:
        events.write_text("".join(json.dumps(asdict(allocation)) + "\n" for allocation in allocations))
    found = figures(allocations)
    return {
        "live_bytes": found.live_bytes,
        "live_operation": found.live_operation,
        "in_use_bytes": max(peaks[1:]),
        "in_use_per_step": peaks,
        "temp_bytes": found.temp_bytes,
        "state_bytes": found.state_bytes,
    }


def _traced(model: keras.Model, batch: int) -> Any:
    inputs = [tf.TensorSpec((batch, *t.shape[1:]), t.dtype) for t in model.inputs]
    targets = [tf.TensorSpec((batch, *t.shape[1:]), tf.float32) for t in model.outputs]

    def step(x: list[Any], y: list[Any]) -> Any:
        return model.train_step((one_or_list(x), one_or_list(y)))["loss"]

    return tf.function(step).get_concrete_function(inputs, targets)


def _with_resources(step: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The step's graph with a resource of the session's own for each variable; the variables' values; constants."""
    definition = step.graph.as_graph_def()
    outer = {inner.op.name: captured for captured, inner in step.graph.captures}
    variables = {id(variable.handle): variable for variable in step.graph.variables}
    values, constants = {}, {}
    for node in definition.node:
        if node.name not in outer:
            continue
        if outer[node.name].dtype != tf.resource:
            constants[node.name] = outer[node.name].numpy()
            continue
        variable = variables[id(outer[node.name])]
        values[node.name] = _value(variable)
        node.op = "VarHandleOp"
        node.ClearField("attr")
        node.attr["dtype"].type = variable.dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(variable.shape.as_proto())
        node.attr["shared_name"].s = node.name.encode()
        node.attr["container"].s = b""
    return definition, values, constants


def _value(variable: Any) -> Any:
    shape = variable.shape.as_list()
    if np.prod(shape or [1]) < SMALLEST_WITHOUT_VALUE:
        return variable.numpy()
    small = np.random.default_rng(0).random(shape, dtype="float32") * 0.02  # so that no gradient overflows
    return small.astype(variable.dtype.as_numpy_dtype)


def _peaks(
    step: Any, definition: Any, values: dict[str, Any], constants: dict[str, Any], model: keras.Model, batch: int
) -> list[int]:
    """Run the step as a session runs it; the allocator's peak in each."""
    v1 = tf.compat.v1
    given = [t for t in step.graph.inputs if t.op.name not in values and t.op.name not in constants]
    data = [array for part in arrays(model, batch) for array in part]
    with tf.Graph().as_default() as graph:
        fed = {f"{name}:0": tf.constant(value) for name, value in constants.items()}
        for argument, array in zip(given, data, strict=True):
            name = INPUT + argument.op.name
            handle = tf.raw_ops.VarHandleOp(dtype=argument.dtype, shape=argument.shape, shared_name=name, name=name)
            fed[argument.name] = tf.raw_ops.ReadVariableOp(resource=handle, dtype=argument.dtype)
            values[name] = array
        tf.import_graph_def(definition, name="", input_map=fed)
        session = v1.Session(config=v1.ConfigProto(inter_op_parallelism_threads=1))
        _assign(session, graph, values)
        run = [o.name for o in step.graph.get_operations() if o.type.startswith("Assign")]
        run += [t.op.name for t in step.graph.outputs] + [o.name for o in step.graph.control_outputs]
        fetches = [graph.get_operation_by_name(name) for name in run]
        peaks = []
        for _ in range(STEPS):
            tf.config.experimental.reset_memory_stats("CPU:0")
            with tf.profiler.experimental.Trace(STEP):
                session.run(fetches, options=v1.RunOptions(inter_op_thread_pool=-1))
            peaks.append(tf.config.experimental.get_memory_info("CPU:0")["peak"])
        return peaks


def _assign(session: Any, graph: tf.Graph, values: dict[str, Any]) -> None:
    """Each variable a copy of its value: what is fed lies in numpy's memory, not in the allocator's."""
    feeds, assigns = {}, []
    for name, value in values.items():
        placeholder = tf.compat.v1.placeholder(tf.as_dtype(value.dtype), value.shape)
        feeds[placeholder] = value
        handle = graph.get_tensor_by_name(f"{name}:0")
        copy = tf.raw_ops.DeepCopy(x=placeholder)
        assigns.append(tf.raw_ops.AssignVariableOp(resource=handle, value=copy))
    session.run(assigns, feeds)
