"""Run a graph without running it: TensorFlow's executor on shapes instead of tensors.

Tokens go from operation to operation as they do in `executor.cc`: a first-in-first-out queue of what is ready, loop
frames with their iterations, branches of which one is alive. What comes out is every kernel that would run, in order,
with the buffers it would take.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planner_app.core.model.trace import Access, Operation, Role, Size, Value, Variable
from planner_app.errors import ModelError
from planner_app.worker.graph.branches import is_turn, looks_for_nan
from planner_app.worker.graph.lists import LIST_KERNELS, TensorList
from planner_app.worker.graph.nodes import Graph, Node
from planner_app.worker.graph.shapes import Inference, evaluate, largest
from planner_app.worker.kernels import forwarding as kernels
from planner_app.worker.kernels.arithmetic import work_of
from planner_app.worker.kernels.call import Call, Scratch
from planner_app.worker.kernels.compiled import is_compiled
from planner_app.worker.kernels.cpu_scratch import scratch_of

# Assignments that write the variable's buffer where it lies, after copying it if somebody still reads it.
UPDATES = frozenset({"AssignAddVariableOp", "AssignSubVariableOp"})
# Sparse updates: resource_variable_ops.cc switches such a variable to copy-on-read for good.
SCATTERS = frozenset(f"ResourceScatter{kind}" for kind in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"))
MOST_OPERATIONS = 3_000_000


@dataclass(slots=True)
class Token:
    """What travels along an edge: a value's number, its shape and, where it is known, what it holds."""

    value: int
    shape: tuple[int, ...]
    dtype: Any
    constant: np.ndarray | None = None
    list: TensorList | None = None
    variable: int = -1
    fixed: bool = False  # the same in every step: made of constants alone
    at_least: np.ndarray | None = None


class Frame:
    """A loop while it runs (or the step itself): what has arrived in each of its iterations."""

    __slots__ = ("arrived", "children", "invariants", "parent", "parent_iteration", "waiting")

    def __init__(self, parent: Frame | None = None, parent_iteration: int = 0) -> None:
        self.parent, self.parent_iteration = parent, parent_iteration
        self.waiting: list[dict[int, int]] = [{}]
        self.arrived: list[dict[int, tuple[list[Token | None], list[int]]]] = [{}]
        self.invariants: list[tuple[Node, list[Token | None], int]] = []
        self.children: dict[tuple[str, int], Frame] = {}


class Unroller:
    """One run through the graph. `variables` tells shape, dtype, role and layer of each resource.

    Attributes:
        assume: The way a branch goes whose condition is not known.
        turn: The way a branch goes that is taken every so many steps.
        first: The number of the first operation: one run's operations can be numbered after another's.
    """

    def __init__(
        self,
        graph: Graph,
        variables: dict[str, tuple[Any, Any, Role, str]],
        *,
        assume: bool = True,
        turn: bool = True,
        after: Unroller | None = None,
    ) -> None:
        self.graph, self.assume, self.turn = graph, assume, turn
        self.first = len(after.operations) if after else 0
        self.sizes: dict[Size, int] = after.sizes if after else {Size(): 0}
        self.values: list[Value] = after.values if after else []
        self.operations: list[list[Any]] = []
        self.warnings: dict[str, None] = {}
        self.variables = tuple(
            Variable(name, self.size(shape, dtype), role, layer)
            for name, (shape, dtype, role, layer) in variables.items()
        )
        self._numbers = {variable.name: number for number, variable in enumerate(self.variables)}
        self.undecided = self.takes_turns = False
        self.sparse: set[int] = set()
        self._inference = Inference()
        self._queues: list[deque[tuple[Node, Frame, int]]] = [deque()]

    def run(self) -> None:
        step = Frame()
        for node in self.graph.nodes:
            if not node.inputs and not node.controls and node.type != "Placeholder":
                self._queues[0].append((node, step, 0))
        while self._queues:
            if not self._queues[-1]:
                self._queues.pop()
                continue
            node, frame, iteration = self._queues[-1].popleft()
            if self._runs_apart(node):
                self._queues.append(deque())
            tokens, after = frame.arrived[iteration].pop(node.id, ([], []))
            number = len(self.operations)
            if number > MOST_OPERATIONS:
                raise ModelError(
                    f"The step runs more than {MOST_OPERATIONS:,} operations: shorten its loops to trace it."
                )
            self.operations.append([node.id, [], [], [], len(after), Access.NONE, -1, 0])
            for earlier in after:
                self.operations[earlier][3].append(number)
            outputs = self._execute(node, tokens, self.operations[number])
            self._propagate(node, frame, iteration, outputs, number)
            if self._runs_apart(node):
                self._queues += [deque([told]) for told in reversed(self._queues.pop())]

    def _runs_apart(self, node: Node) -> bool:
        """executor.cc, ScheduleReady: what an asynchronous kernel makes ready, a CPU's one thread runs one by one, each
        with all that follows from it, before it goes on with its own queue. A GPU's executor hands it to other threads.
        """
        return not self.graph.on_gpu and not self.graph.xla and is_compiled(node)

    # --- the executor ----------------------------------------------------------------------------------------------
    def _propagate(self, node: Node, frame: Frame, iteration: int, outputs: list[Token | None], number: int) -> None:
        if node.type in ("Enter", "RefEnter"):
            key = (node.attribute("frame_name").decode(), iteration)
            child = frame.children.get(key)
            if child is None:
                child = frame.children[key] = Frame(frame, iteration)
            if node.attribute("is_constant"):
                child.invariants.append((node, outputs, number))
                for each in range(len(child.waiting)):
                    self._tell(node, child, each, outputs, number)
                return
            frame, iteration = child, 0
        elif node.type == "Exit":
            assert frame.parent is not None  # only a loop has one, and it lies in another frame
            frame, iteration = frame.parent, frame.parent_iteration
        elif node.type == "NextIteration":
            iteration += 1
            if iteration == len(frame.waiting):
                frame.waiting.append({})
                frame.arrived.append({})
                for source, entered, earlier in frame.invariants:
                    self._tell(source, frame, iteration, entered, earlier)
        self._tell(node, frame, iteration, outputs, number)

    def _tell(self, node: Node, frame: Frame, iteration: int, outputs: list[Token | None], number: int) -> None:
        nodes = self.graph.nodes
        for reader, slot, port in node.readers:
            token = outputs[port]
            if token is not None:
                self._arrive(nodes[reader], frame, iteration, number)[slot] = token
        if outputs and all(token is None for token in outputs):
            return
        for follower in node.followers:
            if nodes[follower].type != "Merge":
                self._arrive(nodes[follower], frame, iteration, number)

    def _arrive(self, reader: Node, frame: Frame, iteration: int, number: int) -> list[Token | None]:
        """One more edge has been told; with the last one (a Merge: with the first) the reader is ready."""
        waiting, arrived = frame.waiting[iteration], frame.arrived[iteration]
        entry = arrived.get(reader.id)
        if entry is None:
            entry = arrived[reader.id] = ([None] * len(reader.inputs), [])
        entry[1].append(number)
        if reader.type == "Merge":
            left = 0 if reader.id not in waiting else -1
        else:
            left = waiting.get(reader.id, len(reader.inputs) + len(reader.controls)) - 1
        waiting[reader.id] = left
        if left == 0:
            self._queues[-1].append((reader, frame, iteration))
        return entry[0]

    # --- one kernel ------------------------------------------------------------------------------------------------
    def _execute(self, node: Node, arrived: list[Token | None], row: list[Any]) -> list[Token | None]:
        """A Merge goes ahead with the first of its inputs, all others with every one."""
        kind = node.type
        inputs = [token for token in arrived if token is not None]
        row[1] = [token.value for token in inputs]
        outputs: list[Token | None]
        if kind == "Merge":
            place = next(i for i, token in enumerate(arrived) if token is not None)
            outputs = [self._same(inputs[0]), self.known(place, node.dtypes[1])]
        elif kind == "Switch":
            outputs = self._switch(node, inputs)
        elif kind == "Const":
            shape = self._shape(node, inputs, 0)
            outputs = [self.token(self.value(), shape, node.dtypes[0], node.constant, fixed=True)]
        elif kind == "VarHandleOp":
            outputs = [self.token(self.value(), (), node.dtypes[0], variable=self._numbers[node.name])]
        elif kind in LIST_KERNELS and (node.dtypes[0].name == "variant" or inputs[0].dtype.name == "variant"):
            changed = LIST_KERNELS[kind](self, node, inputs)
            row[2] = [token.value for token in changed]
            return [*changed[: len(node.dtypes)]]
        elif inputs and inputs[0].variable >= 0 and kind not in kernels.ALIAS:
            outputs = self._touch(node, inputs, row)
        else:
            outputs = self._compute(node, inputs, row)
        made = [token.value for token in outputs if token is not None]
        row[2] = row[2] + made if kind in kernels.SCRATCH_FIRST else made + row[2]
        return outputs

    def _switch(self, node: Node, inputs: list[Token]) -> list[Token | None]:
        data, predicate = inputs
        if predicate.constant is not None:
            taken = bool(predicate.constant)
        elif is_turn(node, self.graph):
            self.takes_turns, taken = True, self.turn
        elif looks_for_nan(node, self.graph):
            taken = False
        else:
            self.undecided, taken = True, self.assume
        token = self._same(data)
        return [None, token] if taken else [token, None]

    def _touch(self, node: Node, inputs: list[Token], row: list[Any]) -> list[Token | None]:
        row[6] = inputs[0].variable
        kind = node.type
        if kind == "ReadVariableOp":
            row[5] = Access.READ
            held = self.graph.nodes[node.inputs[0][0]].constant
            return [replace(self.fresh(self._shape(node, inputs, 0), node.dtypes[0]), constant=held)]
        if kind == "AssignVariableOp":
            row[5] = Access.REPLACE
        elif kind in UPDATES:
            row[5] = Access.UPDATE
        else:
            row[5] = Access.TOUCH
            if kind in SCATTERS:
                self.sparse.add(inputs[0].variable)
        return self._compute(node, inputs, row)

    def _compute(self, node: Node, inputs: list[Token], row: list[Any]) -> list[Token | None]:
        kind = node.type
        if kind in kernels.ALIAS:
            shaped = kind in ("Reshape", "Squeeze", "ExpandDims")
            same = self._same(inputs[0], self._shape(node, inputs, 0) if shaped else node.shapes[0])
            if _folds(node, inputs) and kind not in kernels.CONTROL_FLOW:
                same.value = self.value(alias=inputs[0].value, size=self.size(same.shape, same.dtype), folded=True)
            return [same]
        if kind in kernels.ALIAS_EACH:
            return [self._same(token) for token in inputs]
        if not node.dtypes:
            return []
        known = evaluate(node, inputs, self._said(node, inputs))
        shapes = [
            self._shape(node, inputs, port) if known is None else known[port].shape for port in range(len(node.dtypes))
        ]
        folded = _folds(node, inputs)
        if not folded:
            row[7] = self.size_index(self.graph.over_batch(work_of(node, inputs, shapes)))
        if kernels.is_view(kind, node, inputs, shapes[0]):
            constant = known[0] if known is not None else None
            return [self.token(self.alias(inputs[0].value), shapes[0], node.dtypes[0], constant)]
        views = kernels.shared_slices(kind, node, inputs, shapes)
        outputs: list[Token | None] = []
        for port, (shape, dtype) in enumerate(zip(shapes, node.dtypes, strict=True)):
            constant = known[port] if known is not None else None
            if views:
                outputs.append(self.token(self.alias(inputs[views - 1].value), shape, dtype, constant))
                continue
            candidates = kernels.forward_candidates(kind, len(inputs), port)
            size = self.size(shape, dtype)
            forward = tuple(
                inputs[c].value
                for c in candidates
                if c < len(inputs) and inputs[c].dtype == dtype and self.size(inputs[c].shape, dtype) == size
            )
            value = self.value(
                size=size, forward=forward, scratch=kernels.is_made_as_scratch(kind, inputs), folded=folded
            )
            least = next((t.constant for t in inputs if t.constant is not None), None) if kind == "Maximum" else None
            outputs.append(self.token(value, shape, dtype, constant, fixed=folded, at_least=least))
        if not folded:
            row[2] += [self._scratch(wanted, inputs) for wanted in scratch_of(Call(node, inputs, shapes, self.graph))]
        return outputs

    def _scratch(self, wanted: Scratch, inputs: list[Token]) -> int:
        instead = tuple(inputs[place].value for place in wanted.instead_of)
        return self.value(
            size=self.size_index(wanted.size),
            forward=instead,
            scratch=not wanted.unmarked,
            from_batch=wanted.from_batch,
            below_batch=wanted.below_batch,
        )

    def _said(self, node: Node, inputs: list[Token]) -> list[tuple[int, ...] | None]:
        """Shapes of the outputs; those that the graph leaves open are asked for where all inputs are known."""
        if None not in node.shapes or any(token.constant is None for token in inputs):
            return list(node.shapes)
        return self._inference.shapes(node, inputs)

    def _shape(self, node: Node, inputs: list[Token], port: int) -> tuple[int, ...]:
        shape = node.shapes[port]
        if shape is None:
            shape = self._inference.shapes(node, inputs)[port]
        if shape is None:
            shape = largest(node, inputs)
            if shape is None:
                raise self.unknown(node)
            self.warnings[f"How much {node.type} in {node.name} puts out depends on the data: counted at its most."] = (
                None
            )
        return shape

    # --- values ----------------------------------------------------------------------------------------------------
    def size_index(self, size: Size) -> int:
        return self.sizes.setdefault(size, len(self.sizes))

    def size(self, shape: tuple[int, ...], dtype: Any) -> int:
        return self.size_index(self.graph.size(shape, dtype))

    def value(self, **columns: Any) -> int:
        self.values.append(Value(**columns))
        return len(self.values) - 1

    def alias(self, value: int) -> int:
        return self.value(alias=value)

    def token(self, value: int, shape: tuple[int, ...], dtype: Any, constant: Any = None, **more: Any) -> Token:
        return Token(value, shape, dtype, constant, **more)

    def fresh(self, shape: tuple[int, ...], dtype: Any) -> Token:
        return Token(self.value(size=self.size(shape, dtype)), shape, dtype)

    def known(self, number: Any, dtype: Any) -> Token:
        array = np.asarray(number, dtype.as_numpy_dtype)
        return Token(self.value(size=self.size(array.shape, dtype)), array.shape, dtype, array)

    def _same(self, token: Token, shape: tuple[int, ...] | None = None) -> Token:
        """The same buffer, perhaps under another shape."""
        constant = token.constant
        if shape is not None and constant is not None:
            constant = constant.reshape(shape)
        shape = token.shape if shape is None else shape
        value = self.alias(token.value)
        return Token(value, shape, token.dtype, constant, token.list, token.variable, token.fixed)

    def unknown(self, node: Node) -> ModelError:
        return ModelError(
            f'The size of what "{node.name}" ({node.type}) puts out can\'t be known before it runs, '
            "so the step can't be estimated: give every input a fixed size (--set) or replace that operation."
        )

    def finished(self) -> tuple[Operation, ...]:
        """The operations as values. A variable that is updated sparsely is read by copying it."""
        rows = []
        for source, reads, makes, then, waits, access, variable, work in self.operations:
            if access == Access.READ and variable in self.sparse:
                access = Access.COPY
            following = tuple(self.first + number for number in then)
            rows.append(Operation(source, tuple(reads), tuple(makes), following, waits, access, variable, work))
        return tuple(rows)


def _folds(node: Node, inputs: list[Token]) -> bool:
    """constant_folding.cc: a stateless operation on constants is computed once, before the first step."""
    return bool(inputs) and all(token.fixed for token in inputs) and not node.operation.op_def.is_stateful
