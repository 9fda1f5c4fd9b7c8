"""What a step takes when its kernels run as on a GPU: one after the other, from one first-in-first-out queue.

A session whose thread pool is -1 runs every kernel on the thread that made it ready, which is how the executor treats
GPU kernels. The order then repeats from process to process, and with it the live bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from planner_app.worker.attribution import Attribution
from planner_app.worker.exhausted import NoRoom
from planner_app.worker.rewrite import INPUT_PREFIX, step_graph
from planner_app.worker.step import trace_step
from planner_app.worker.synthetic import arrays
from planner_app.worker.valueless import SMALLEST_WITHOUT_VALUE

ONE_BY_ONE = tf.compat.v1.RunOptions(inter_op_thread_pool=-1)


class OneByOne:
    """One model's step in a session of its own, which holds the only copy of the variables."""

    def __init__(self, model: keras.Model, batch: int, about: Attribution) -> None:
        step = trace_step(model, batch)
        meta, variables = step_graph(step)
        run = list(meta.collection_def["train_op"].node_list.value)
        values = {name: _value(variable) for name, variable in variables.items()}
        given = [t.op.name for t in step.graph.inputs if INPUT_PREFIX + t.op.name in _names(meta)]
        data = [array for part in arrays(model, batch) for array in part]
        values |= {INPUT_PREFIX + name: array for name, array in zip(given, data, strict=True)}
        self._values: dict[str, Any] = values
        self._layers = {name: about.owner(variable) for name, variable in variables.items()}
        self._graph = tf.Graph()
        with self._graph.as_default():
            tf.import_graph_def(meta.graph_def, name="")
            self._run = [self._graph.get_operation_by_name(name) for name in run]
            config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=1)
            self._session = tf.compat.v1.Session(config=config)

    def load(self, limit_bytes: int | None = None) -> None:
        """Each variable gets a copy of its value: what is fed lies in numpy's memory, not in the allocator's."""
        self._check_room(limit_bytes)
        feeds, assigns = {}, []
        with self._graph.as_default():
            for name, value in self._values.items():
                placeholder = tf.compat.v1.placeholder(tf.as_dtype(value.dtype), value.shape)
                feeds[placeholder] = value
                handle = self._graph.get_tensor_by_name(f"{name}:0")
                copy = tf.raw_ops.DeepCopy(x=placeholder)
                assigns.append(tf.raw_ops.AssignVariableOp(resource=handle, value=copy))
        self._values = {}
        self._session.run(assigns, feeds, options=ONE_BY_ONE)

    def _check_room(self, limit_bytes: int | None) -> None:
        left = limit_bytes
        for name, value in self._values.items():
            if left is None:
                return
            left -= value.nbytes
            if left < 0:
                layer = self._layers.get(name, "")
                raise NoRoom(f"variable {name}", layer, value.shape, str(value.dtype), value.nbytes)

    @property
    def step(self) -> Callable[[], None]:
        return lambda: self._session.run(self._run, options=ONE_BY_ONE)


def _names(meta: Any) -> set[str]:
    return {node.name for node in meta.graph_def.node}


def _value(variable: Any) -> Any:
    shape = variable.shape.as_list()
    if np.prod(shape or [1]) < SMALLEST_WITHOUT_VALUE:
        return variable.numpy()
    small = np.random.default_rng(0).random(shape, dtype="float32") * 0.02  # so that no gradient overflows
    return small.astype(variable.dtype.as_numpy_dtype)
