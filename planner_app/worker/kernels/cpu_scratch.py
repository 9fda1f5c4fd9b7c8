"""Memory that TensorFlow's CPU kernels take for themselves while they run (oneDNN off).

Each rule is the kernel's own arithmetic; the file it stands in is named beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from math import prod

import tensorflow as tf

from planner_app.core.model.trace import Size
from planner_app.worker.kernels.call import Call, Scratch
from planner_app.worker.kernels.compiled import program_memory
from planner_app.worker.kernels.gpu_scratch import GPU_RULES, XLA_RULES
from planner_app.worker.kernels.shared_scratch import einsum, reduction

Rule = Callable[[Call], Iterator[Scratch]]

# conv_grad_filter_ops.cc, conv_grad_input_ops.h: "30MB is from ivybridge", whatever the machine's caches are.
L3_CACHE_BYTES = 30 << 20
L2_CACHE_BYTES = 256 << 10
# conv_grad_ops_3d.cc kMaxTempAllocationOverhead: beyond this many times its tensors another kernel is taken.
MOST_OVERHEAD = 25
# bits/confname.h, _SC_LEVEL3_CACHE_SIZE: Python has no name for it and takes the number.
LEVEL3_CACHE_SIZE = 194
# Threads of the CPU device that is stood in for; a device of its own, not the machine this runs on.
CPU_THREADS = 2

LOW_PRECISION = (tf.float16, tf.bfloat16)


def scratch_of(call: Call) -> Iterator[Scratch]:
    rules = XLA_RULES if call.graph.xla else GPU_RULES if call.graph.on_gpu else CPU_RULES
    rule = rules.get(call.node.type)
    return rule(call) if rule else program_memory(call)


def _filter_gradient(call: Call) -> Iterator[Scratch]:
    """im2col of as many images as fill the cache."""
    patch, depth = prod(call.shapes[0][:-1]), call.shapes[0][-1]
    yield Scratch(Size(_columns_bytes(call, patch, depth, L3_CACHE_BYTES)))


def _input_gradient(call: Call) -> Iterator[Scratch]:
    """The same, but for one image where that alone keeps every thread busy."""
    kernel = call.inputs[1].shape
    patch, depth, image = prod(kernel[:-1]), kernel[-1], _image(call)
    unit = image * depth + patch * depth + image * patch
    if unit // CPU_THREADS >= L2_CACHE_BYTES // call.dtype.size:
        yield Scratch(Size(image * patch * call.dtype.size))
    else:
        yield Scratch(Size(_columns_bytes(call, patch, depth, L3_CACHE_BYTES)))


def _gradient_3d(call: Call) -> Iterator[Scratch]:
    """conv_grad_ops_3d.cc: the same with the machine's own cache, unless that dwarfs the tensors.

    A filter's gradient in float16 is left to Eigen, which takes nothing.
    """
    if "Filter" in call.node.type and call.dtype in LOW_PRECISION:
        return
    kernel = call.inputs[1].shape if "Input" in call.node.type else call.shapes[0]
    patch = prod(kernel[:-1])
    columns = _columns_bytes(call, patch, kernel[-1], _machine_l3_bytes())
    touched = [call.input_size(place) for place in range(3)] + [call.output_size]
    slope = sum(size.slope for size in touched)
    constant = sum(size.constant for size in touched)
    # columns // (constant + slope * batch) <= MOST_OVERHEAD
    missing = columns // (MOST_OVERHEAD + 1) + 1 - constant
    first = max(0, -(-missing // slope)) if slope else 0
    if "Filter" in call.node.type:
        yield Scratch(Size(columns), from_batch=first)
        return
    # Of a single image no more than one is unfolded, however large the cache.
    one = _image(call) * patch * call.dtype.size
    if one // (constant + slope) <= MOST_OVERHEAD:
        yield Scratch(Size(one), below_batch=2)
    yield Scratch(Size(columns), from_batch=max(2, first))


def _columns_bytes(call: Call, patch: int, depth: int, cache_bytes: int) -> int:
    item: int = call.dtype.size
    image = _image(call)
    unit = image * patch + image * depth + patch * depth
    return -(-(cache_bytes // item) // unit) * image * patch * item


def _image(call: Call) -> int:
    """Pixels of the gradient that comes from behind."""
    return prod(call.inputs[2].shape[1:-1])


def _machine_l3_bytes() -> int:
    """What Eigen asks the processor for; its own default where that does not answer (Eigen/Core: 512 KiB)."""
    try:
        found = os.sysconf(LEVEL3_CACHE_SIZE)
    except (ValueError, OSError):
        found = 0
    return found if found > 0 else 512 << 10


def _pool_gradient(call: Call) -> Iterator[Scratch]:
    """maxpooling_op.cc: the forward pass again, into its own old output if that is free, with 64-bit places."""
    yield Scratch(call.input_size(1), instead_of=(1,))
    yield Scratch(call.size_of(call.inputs[1].shape, tf.int64))


def _sparse_loss(call: Call) -> Iterator[Scratch]:
    """sparse_xent_op.cc: the largest logit of each row."""
    yield Scratch(call.size_of(call.inputs[1].shape, call.inputs[0].dtype))


def _matrix_product(call: Call) -> Iterator[Scratch]:
    """matmul_op_impl.h: sixteen-bit operands and result are converted to float32 as a whole."""
    if call.inputs[0].dtype in LOW_PRECISION:
        for shape in (call.inputs[0].shape, call.inputs[1].shape, call.shapes[0]):
            yield Scratch(call.size_of(shape))


CPU_RULES: dict[str, Rule] = {
    "Conv2DBackpropFilter": _filter_gradient,
    "Conv2DBackpropInput": _input_gradient,
    "Conv3DBackpropFilterV2": _gradient_3d,
    "Conv3DBackpropInputV2": _gradient_3d,
    "MaxPoolGrad": _pool_gradient,
    "SparseSoftmaxCrossEntropyWithLogits": _sparse_loss,
    "Einsum": einsum,
    **dict.fromkeys(("MatMul", "_FusedMatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _matrix_product),
    **dict.fromkeys(("Sum", "Mean", "Max", "Min", "Prod"), reduction),
}
