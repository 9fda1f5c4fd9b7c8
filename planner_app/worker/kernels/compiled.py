"""Operations that are compiled by themselves: `tf.function(jit_compile=True)` inside a step that XLA does not compile.

Keras does so with every grouped convolution, on every device. The call stays one node of the graph; its kernel
(xla_ops.cc, XlaLocalLaunchBase) runs a program that takes its results and one block for all its temporaries from the
device's allocator. How large that block is, the compiler says: it lays it out without running anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.compiler.xla.service import hlo_pb2
from tensorflow.python.framework.function_def_to_graph import function_def_to_graph_def

from planner_app.core.model.trace import Size
from planner_app.worker.graph.rebatched import Rebatch
from planner_app.worker.kernels.call import Call, Scratch
from planner_app.worker.kernels.forwarding import ALIAS
from planner_app.worker.kernels.reductions import CONVOLUTIONS

if TYPE_CHECKING:
    from planner_app.worker.graph.nodes import Graph, Node

CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
COMPILED = "_XlaMustCompile"
CONVOLVING = CONVOLUTIONS | {"Conv2DBackpropInput", "Conv2DBackpropFilter", "Conv3DBackpropInputV2"}
# A block is the largest of several moments, each of which grows in a straight line: two batches tell one line.
FEW, MANY = (8, 16), (512, 1024)
POINTER_BYTES = 8  # the table of a tuple's parts

_laid_out: dict[bytes, int] = {}


def is_compiled(node: Node) -> bool:
    return node.type in CALLS and bool(node.attribute(COMPILED, False) or node.attribute("_xla_compile_id", b""))


def program_memory(call: Call) -> Iterator[Scratch]:
    """What the program takes beside its results. It asks without saying what for, so none of it counts as scratch."""
    if call.graph.xla or not is_compiled(call.node):
        return
    if len(call.shapes) > 1:
        yield Scratch(Size(POINTER_BYTES * len(call.shapes)), unmarked=True)
    if call.graph.on_gpu and _convolves(call):
        yield from _turned(call)
        return
    for size, first, last in _lines(partial(_block_bytes, call)):
        if size != Size():
            yield Scratch(size, from_batch=first, below_batch=last, unmarked=True)


def _turned(call: Call) -> Iterator[Scratch]:
    """layout_assignment.cc: before Hopper a convolution in float32 gets its pictures with the channels first."""
    if call.graph.turns_pictures(call.dtype):
        for place in range(len(call.inputs)):
            yield Scratch(call.input_size(place), unmarked=True)
        for shape, dtype in zip(call.shapes, call.node.dtypes, strict=True):
            yield Scratch(call.size_of(shape, dtype), unmarked=True)


def _lines(block_bytes: Callable[[int], int]) -> Iterator[tuple[Size, int, int]]:
    """Straight lines, each with the batches for which it is the one: from the first on, below the last (0: no end)."""
    few = _line(block_bytes, *FEW)
    if few.at(MANY[0]) == block_bytes(MANY[0]):
        yield few, 0, 0
        return
    many = _line(block_bytes, *MANY)
    if few.slope >= many.slope:
        yield many, 0, 0
        return
    crossing = max(1, -(-(few.constant - many.constant) // (many.slope - few.slope)))
    yield few, 0, crossing
    yield many, crossing, 0


def _line(block_bytes: Callable[[int], int], first: int, second: int) -> Size:
    low, high = block_bytes(first), block_bytes(second)
    slope = (high - low) // (second - first)
    return Size(low - slope * first, slope)


def _block_bytes(call: Call, batch: int) -> int:
    """The compiler's temporary memory with this batch; nothing where it can't compile the program for the CPU."""
    rebatch = Rebatch(call.graph.batch, call.graph.prime, batch)
    functions = [_for_batch(each, rebatch) for each in _called(call.node.attribute("f").name, call.graph)]
    specs = [_spec(call, place, rebatch) for place in range(len(call.inputs))]
    digest = _digest(functions, specs)
    if digest not in _laid_out:
        _laid_out[digest] = _compiled_bytes(functions, specs)
    return _laid_out[digest]


def _digest(functions: list[Any], specs: list[Any]) -> bytes:
    """The same for layers that differ in their names alone."""
    found = sha256(repr(specs).encode())
    for function in functions:
        names = [each.name for each in (*function.signature.input_arg, *function.node_def)]
        number = {name: str(place) for place, name in enumerate(names)}
        for node in function.node_def:
            inputs = [text.lstrip("^").split(":") for text in node.input]
            found.update(repr([node.op, [(number[name], *port) for name, *port in inputs]]).encode())
            for key in sorted(node.attr):
                found.update(key.encode() + node.attr[key].SerializeToString(deterministic=True))
    return found.digest()


def _compiled_bytes(functions: list[Any], specs: list[Any]) -> int:
    """Compiles the first of the functions, which calls the others."""
    body, names = function_def_to_graph_def(functions[0])
    body.library.function.extend(functions[1:])
    if not _reads_values(body):
        return 0
    arguments = [argument.name for argument in functions[0].signature.input_arg]
    passed = {f"{name}:0": place for place, name in enumerate(arguments)}
    others = [node for node in body.node if f"{node.name}:0" not in passed]  # XLA compiles no placeholders
    del body.node[:]
    body.node.extend(others)
    results = [names[functions[0].ret[result.name]] for result in functions[0].signature.output_arg]

    used = {text.partition(":")[0].lstrip("^") for node in body.node for text in node.input}

    def run(*given: Any) -> Any:
        fed = {name: tensor for name, tensor in zip(arguments, given, strict=True) if name in used}
        made = iter(tf.import_graph_def(body, fed, [name for name in results if name not in passed], name=""))
        return [given[passed[name]] if name in passed else next(made) for name in results]

    try:
        told = tf.function(run, jit_compile=True, autograph=False).experimental_get_compiler_ir(*specs)(
            stage="optimized_hlo_proto_serialized"
        )
    except (ValueError, TypeError, NotImplementedError, tf.errors.OpError):
        return 0
    return sum(
        each.size
        for each in hlo_pb2.HloProto.FromString(told).buffer_assignment.buffer_allocations
        if not (
            each.is_entry_computation_parameter
            or each.maybe_live_out
            or each.is_constant
            or each.is_thread_local
            or each.is_tuple
        )
    )


def _spec(call: Call, place: int, rebatch: Rebatch) -> Any:
    """What the program is given: of a variable its value."""
    token = call.inputs[place]
    if token.dtype != tf.resource:
        return tf.TensorSpec(rebatch.sizes(token.shape), token.dtype)
    source = call.graph.nodes[call.node.inputs[place][0]]
    while source.type in ALIAS:
        source = call.graph.nodes[source.inputs[0][0]]
    return tf.TensorSpec(tf.TensorShape(source.attribute("shape")), source.attribute("dtype"))


def _reads_values(body: Any) -> bool:
    """Variables become plain arguments, where the program does nothing but read them."""
    resources = {
        node.name: node for node in body.node if node.op == "Placeholder" and node.attr["dtype"].type == tf.resource
    }
    for node in body.node:
        for text in node.input:
            given = resources.get(text.partition(":")[0])
            if given is not None and node.op not in ("ReadVariableOp", "Identity"):
                return False
            if given is not None and node.op == "ReadVariableOp":
                dtype = node.attr["dtype"].type
                given.attr["dtype"].type = dtype
                node.op = "Identity"
                node.ClearField("attr")
                node.attr["T"].type = dtype
    return True


def _for_batch(function: Any, rebatch: Rebatch) -> Any:
    """The function as it would have been traced with another batch."""
    copied = type(function)()
    copied.CopyFrom(function)
    copied.arg_attr.clear()
    for name in ("_input_shapes", COMPILED):
        copied.attr.pop(name, None)
    for node in copied.node_def:
        node.device = ""
        node.ClearField("experimental_debug_info")
        node.attr.pop(COMPILED, None)
        rebatch.node(node)
    return copied


def _called(name: str, graph: Graph) -> list[Any]:
    """The function and those that it calls."""
    library = {function.signature.name: function for function in graph.definition.library.function}
    found: dict[str, Any] = {}
    wanted = [name]
    while wanted:
        name = wanted.pop()
        if name in library and name not in found:
            found[name] = library[name]
            values = [value for node in library[name].node_def for value in node.attr.values()]
            wanted += [value.func.name for value in values if value.HasField("func")]
            wanted += [each.name for value in values for each in value.list.func]
    return list(found.values())  # the one that calls the others comes first


def _convolves(call: Call) -> bool:
    functions = _called(call.node.attribute("f").name, call.graph)
    return any(node.op in CONVOLVING for function in functions for node in function.node_def)
