"""Scratch memory of kernels that are the same on the CPU and on GPUs: they transpose before they compute."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from planner_app.worker.kernels.call import Call, Scratch

BATCH, FREE, CONTRACT, REDUCE = 1, 2, 3, 4  # EinsumDimensionType
SWAPPED = {FREE: CONTRACT, CONTRACT: FREE}  # a product can take an operand transposed


def reduction(call: Call) -> Iterator[Scratch]:
    """reduction_ops_common.h: axes that don't collapse to at most three groups need a transposed copy."""
    axes, shape = call.inputs[1].constant, call.inputs[0].shape
    if axes is None or not shape:
        return
    reduced = {int(axis) % len(shape) for axis in axes.reshape(-1)}
    groups = [key for key, _ in groupby(axis in reduced for axis, size in enumerate(shape) if size != 1)]
    if len(groups) > 3:
        yield Scratch(call.input_size(0))


def einsum(call: Call) -> Iterator[Scratch]:
    """einsum_op_impl.h: operands are transposed to [batch, free, contract] and the product to the wanted order."""
    left, _, result = call.node.attribute("equation").decode().replace(".", "").partition("->")
    operands = left.split(",")
    labels = list(dict.fromkeys(left.replace(",", "")))
    rank = {label: (_kind(label, operands, result), place) for place, label in enumerate(labels)}
    free: list[str] = []
    for place, operand in enumerate(operands):
        wanted = sorted(operand, key=rank.__getitem__)
        swapped = sorted(operand, key=lambda label: (SWAPPED.get(rank[label][0], rank[label][0]), rank[label][1]))
        if list(operand) not in (wanted, swapped):
            yield Scratch(call.input_size(place))
        free += [label for label in wanted if rank[label][0] == FREE]
    made = [label for label in labels if rank[label][0] == BATCH] + free
    if made != list(result):
        yield Scratch(call.output_size)


def _kind(label: str, operands: list[str], result: str) -> int:
    everywhere = len(operands) > 1 and all(label in operand for operand in operands)
    if label in result:
        return BATCH if everywhere else FREE
    return CONTRACT if everywhere else REDUCE
