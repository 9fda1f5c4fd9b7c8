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

from planner_app.worker.build.valueless import SMALLEST_WITHOUT_VALUE
from planner_app.worker.graph.attribution import Attribution
from planner_app.worker.graph.rewrite import INPUT_PREFIX, step_graph
from planner_app.worker.measure.exhausted import NoRoom
from planner_app.worker.measure.settled import optimized, session_options, settled
from planner_app.worker.training.step import trace_step
from planner_app.worker.training.trainable import Trainable

ALIGNED = 64  # EIGEN_MAX_ALIGN_BYTES
ONE_BY_ONE = tf.compat.v1.RunOptions(inter_op_thread_pool=-1)


class OneByOne:
    """One model's step in a session of its own, which holds the only copy of the variables."""

    def __init__(self, made: Trainable, batch: int) -> None:
        step = trace_step(made, batch)
        meta, variables = step_graph(step)
        run = list(meta.collection_def["train_op"].node_list.value)
        values = {name: _value(variable) for name, variable in variables.items()}
        there = _names(meta) - values.keys()
        given = [t.op.name for t in step.graph.inputs if INPUT_PREFIX + t.op.name in there]
        data = [array for array in keras.tree.flatten(made.feed.arrays(batch)) if array is not None]
        values |= {INPUT_PREFIX + name: array for name, array in zip(given, data, strict=True)}
        about = Attribution(made.model)
        self._layers = {name: about.owner(variable) for name, variable in variables.items()}
        self._graph = tf.Graph()
        with self._graph.as_default():
            tf.import_graph_def(settled(optimized(meta)), name="")
            self._run = [self._graph.get_operation_by_name(name) for name in run]
            self._session = tf.compat.v1.Session(config=session_options())
        there = {operation.name for operation in self._graph.get_operations()}
        # What only the host takes is not there.
        self._values = {name: value for name, value in values.items() if name in there}

    def load(self, limit_bytes: int | None = None, *, once: bool = False) -> None:
        """Each variable gets a copy of its value, one after the other, so that each has its place.

        Args:
            once: Nothing else is in the allocator meanwhile, so that a limit need not have room for values twice.
                Otherwise values pass through it, as what initializers work with does, and leave holes in its regions.
        """
        self._check_room(limit_bytes)
        feeds: dict[Any, Any] = {}
        assigns: list[Any] = []
        with self._graph.as_default():
            for name, value in self._values.items():
                placeholder = tf.compat.v1.placeholder(tf.as_dtype(value.dtype), value.shape)
                feeds[placeholder] = _laid(value, 0 if once else ALIGNED // 2)
                handle = self._graph.get_tensor_by_name(f"{name}:0")
                with tf.control_dependencies(assigns[-1:]):
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


def _laid(value: Any, beyond: int) -> Any:
    """An array so many bytes beyond an aligned address. One at such an address is fed as it is, one elsewhere is copied
    into the allocator's memory first (tf_tensor.cc, TF_NewTensor). numpy lays them now here, now there."""
    value = np.asarray(value)
    if value.dtype == object:
        return value
    room = np.empty(value.nbytes + 2 * ALIGNED, np.uint8)
    start = -room.ctypes.data % ALIGNED + beyond
    laid = room[start : start + value.nbytes].view(value.dtype).reshape(value.shape)
    laid[...] = value
    return laid


def _names(meta: Any) -> set[str]:
    return {node.name for node in meta.graph_def.node}


def _value(variable: Any) -> Any:
    shape = variable.shape.as_list()
    if not isinstance(variable, tf.Variable):
        return variable.numpy()
    if np.prod(shape or [1]) < SMALLEST_WITHOUT_VALUE:
        return variable.numpy()
    small = np.random.default_rng(0).random(shape, dtype="float32") * 0.02  # so that no gradient overflows
    return small.astype(variable.dtype.as_numpy_dtype)
