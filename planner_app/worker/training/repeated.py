"""An optimizer's update traced once and written down again for every other variable.

An update is the same few operations for each variable, and Keras takes longer to say them than TensorFlow to make them:
of a ResNet50's step the updates were more than half of the tracing. What is made is the same graph, to the last name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.framework import ops

# These update element by element, so that shapes don't enter into the operations. Others are told apart by shape.
ELEMENT_BY_ELEMENT = frozenset("SGD Adam AdamW RMSprop Adagrad Adadelta Adamax Nadam Ftrl Lion".split())
# Decides by a variable's name which of its two algorithms to take.
NEVER = frozenset({"Muon"})


@dataclass(frozen=True, slots=True)
class _Name:
    """A name that was asked for, in a scope, and what it became."""

    scope: str
    asked: str
    given: str


@dataclass(frozen=True, slots=True)
class _Captured:
    """What lies outside of the graph and was asked for under a name, in a scope."""

    scope: str
    tensor: Any
    name: str | None


@dataclass(frozen=True, slots=True)
class _Made:
    """An operation that was made, in a scope. All that is asked of it is asked once: each answer is made anew."""

    scope: str
    asked: str
    type: str
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    attributes: tuple[tuple[str, bytes], ...]


@dataclass(slots=True)
class _Recording:
    """What an update did to a graph, apart from computing in Python.

    Attributes:
        captured: For each of the graph's placeholders that it reads, what stands behind it outside.
    """

    scope: str
    gradient: Any
    variable: Any
    events: list[_Name | _Captured | _Made] = field(default_factory=list)
    captured: dict[int, Any] = field(default_factory=dict)
    usable: bool = True


@contextmanager
def repeated_updates(optimizer: Any) -> Iterator[None]:
    """While a step is traced in here, updates like earlier ones are repeated instead of asked of Keras."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if type(inner).__module__.partition(".")[0] != "keras" or type(inner).__name__ in NEVER:
        yield
        return
    updates = _Updates(inner)
    inner.update_step = updates.update
    try:
        yield
    finally:
        del inner.update_step


class _Updates:
    def __init__(self, optimizer: Any) -> None:
        self._by_shape = type(optimizer).__name__ not in ELEMENT_BY_ELEMENT
        self._update = optimizer.update_step
        self._optimizer = optimizer
        self._known: dict[Any, _Recording] = {}

    def update(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        graph = ops.get_default_graph()
        if not isinstance(gradient, tf.Tensor) or not getattr(graph, "building_function", False):
            self._update(gradient, variable, learning_rate)
            return
        shape = tuple(variable.shape) if self._by_shape else len(variable.shape)
        key = (id(graph), variable.dtype, gradient.dtype, shape, id(learning_rate))
        found = self._known.get(key)
        if found is None:
            self._known[key] = self._recorded(graph, gradient, variable, learning_rate)
        elif found.usable:
            self._repeat(graph, found, gradient, variable)
        else:
            self._update(gradient, variable, learning_rate)

    def _recorded(self, graph: Any, gradient: Any, variable: Any, learning_rate: Any) -> _Recording:
        recording = _Recording(graph._name_stack, gradient, variable)
        with _recorded_into(recording, graph):
            self._update(gradient, variable, learning_rate)
        read = {id(tensor) for event in recording.events if isinstance(event, _Made) for tensor in event.inputs}
        recording.captured = {id(inner): outer for outer, inner in graph.captures if id(inner) in read}
        return recording

    def _repeat(self, graph: Any, found: _Recording, gradient: Any, variable: Any) -> None:
        handles = self._handles(graph, found.variable, variable)
        tensors: dict[int, Any] = {id(found.gradient): gradient}
        names = {found.scope: graph._name_stack}
        here = graph._name_stack

        def same(tensor: Any) -> Any:
            """The tensor that is to this variable what the given one was to the recorded one."""
            if id(tensor) in tensors:
                return tensors[id(tensor)]
            return handles.get(id(found.captured.get(id(tensor), tensor)), tensor)

        try:
            for event in found.events:
                graph._name_stack = names[event.scope]
                if isinstance(event, _Name):
                    names[event.given] = graph.unique_name(event.asked)
                    continue
                if isinstance(event, _Captured):
                    graph.capture(same(event.tensor), name=event.name)
                    continue
                is_scope = event.asked.endswith("/")
                name = names[event.asked[:-1]] if is_scope else graph.unique_name(event.asked)
                new = _make(graph, event, name, [graph.capture(same(tensor)) for tensor in event.inputs])
                tensors.update((id(before), after) for before, after in zip(event.outputs, new.outputs, strict=True))
        finally:
            graph._name_stack = here

    def _handles(self, graph: Any, recorded: Any, variable: Any) -> dict[int, Any]:
        """The variable and its slots, by those of the recorded one: a slot is a list in the order of the variables."""
        old, new = (self._optimizer._get_variable_index(each) for each in (recorded, variable))
        count = len(self._optimizer._trainable_variables)
        slots = [
            kept
            for name, kept in vars(self._optimizer).items()
            if name != "_variables" and isinstance(kept, list) and len(kept) == count  # those are of all slots
        ]
        pairs = [(recorded, variable), *((slot[old], slot[new]) for slot in slots)]
        handles = {}
        for before, after in pairs:
            before, after = _of_tensorflow(before), _of_tensorflow(after)
            if hasattr(before, "handle") and hasattr(after, "handle"):
                graph.watch_variable(after)  # into the graph's own list of its variables
                handles[id(before.handle)] = after.handle
        return handles


def _of_tensorflow(variable: Any) -> Any:
    """Keras hands out its own variables and, under a scaled loss, TensorFlow's, whose `value` is a method."""
    value = getattr(variable, "value", variable)
    return variable if callable(value) else value


@contextmanager
def _recorded_into(recording: _Recording, graph: Any) -> Iterator[None]:
    """Names and operations that a graph is asked for, but for those that it makes for itself on the way."""
    unique_name, capture, create = graph.unique_name, graph.capture, graph._create_op_internal
    depth = 0

    def named(name: str, mark_as_used: bool = True) -> str:
        given: str = unique_name(name, mark_as_used)
        if not depth and mark_as_used:
            recording.events.append(_Name(graph._name_stack, name, given))
        return given

    def captured(tensor: Any, name: str | None = None, shape: Any = None) -> Any:
        nonlocal depth
        scope = graph._name_stack
        depth += 1
        try:
            inner = capture(tensor, name, shape)
        finally:
            depth -= 1
        if not depth and inner is not tensor:
            recording.events.append(_Captured(scope, tensor, name))
        return inner

    def created(op_type: str, inputs: Any, *others: Any, **more: Any) -> Any:
        nonlocal depth
        depth += 1
        try:
            made = create(op_type, inputs, *others, **more)
        finally:
            depth -= 1
        if not depth:
            asked = more.get("name", others[2] if len(others) > 2 else None)
            recording.events.append(_made(made, graph._name_stack, asked or op_type))
            recording.usable &= op_type != "Placeholder" and not made.control_inputs and not _takes_lists(made)
        return made

    graph.unique_name, graph.capture, graph._create_op_internal = named, captured, created
    try:
        yield
    finally:
        del graph.unique_name, graph.capture, graph._create_op_internal


def _made(operation: Any, scope: str, asked: str) -> _Made:
    return _Made(
        scope=scope,
        asked=asked,
        type=operation.type,
        inputs=tuple(operation.inputs),
        outputs=tuple(operation.outputs),
        attributes=tuple((name, value.SerializeToString()) for name, value in operation.node_def.attr.items()),
    )


def _takes_lists(operation: Any) -> bool:
    return any(argument.number_attr or argument.type_list_attr for argument in operation.op_def.input_arg)


def _make(graph: Any, made: _Made, name: str, inputs: list[Any]) -> Any:
    """One like it: `Graph._create_op_internal` without what is known to hold, and without noting who called."""
    with graph._c_graph.get() as c_graph:
        described = c_api.TF_NewOperation(c_graph, made.type, name)
    for tensor in inputs:
        c_api.TF_AddInput(described, tensor._as_tf_output())
    for attribute, value in made.attributes:
        c_api.TF_SetAttrValueProto(described, attribute, value)
    operation = ops.Operation._from_c_op(c_op=c_api.TF_FinishOperation(described), g=graph)
    operation._control_flow_post_processing(input_tensors=inputs)
    graph._create_op_helper(operation)
    return operation
