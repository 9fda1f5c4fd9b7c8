"""Bytes that one GPU sends to the others in a step, counted on the program's collective operations.

What a ring needs, as NCCL counts it: of n GPUs, an all-reduce sends 2 (n - 1) / n of its size from each, a gather,
scatter or exchange (n - 1) / n of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod

COLLECTIVE = re.compile(
    r"= (?P<shape>\(.*\)|\S+) (?P<kind>all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)"
    r"(?P<start>-start)?\("
)
SHAPE = re.compile(r"\b(?P<type>pred|bf16|f8\w*|[a-z]+\d+)\[(?P<sizes>[\d,]*)\]")
LISTED = re.compile(r"replica_groups=\{\{(?P<first>[\d,]+)\}")
COUNTED = re.compile(r"replica_groups=\[(?P<groups>\d+),(?P<size>\d+)\]")
# Axes of a mesh with their sizes, and those along which the groups lie: mesh['axis_0'=4,'axis_1'=1] {'axis_0'}
ALONG = re.compile(r"replica_groups=mesh\[(?P<sizes>[^\]]*)\]\s*\{(?P<axes>[^}]*)\}")
AXIS = re.compile(r"'([^']+)'=(\d+)")
BITS = re.compile(r"\d+")


def travelling_bytes(lines: Iterable[str]) -> int:
    return sum(_sent(line) for line in lines if "-done(" not in line)


def _sent(line: str) -> int:
    found = COLLECTIVE.search(line)
    if found is None:
        return 0
    gpus, sizes = _group(line), [_bytes(each) for each in SHAPE.finditer(found["shape"])]
    if not sizes or gpus < 2:
        return sum(sizes) if found["kind"] == "collective-permute" else 0
    whole = sum(sizes)
    if found["start"] and found["kind"] in ("all-gather", "collective-permute"):  # operands and results, in this order
        whole = sum(sizes[len(sizes) // 2 :])
    if found["kind"] == "all-reduce":
        return 2 * whole * (gpus - 1) // gpus
    if found["kind"] == "reduce-scatter":
        return whole * (gpus - 1)
    return whole if found["kind"] == "collective-permute" else whole * (gpus - 1) // gpus


def _group(line: str) -> int:
    """GPUs that take part with each other."""
    if listed := LISTED.search(line):
        return len(listed["first"].split(","))
    if along := ALONG.search(line):
        sizes = dict(AXIS.findall(along["sizes"]))
        return prod(int(sizes.get(axis.strip(" '"), 1)) for axis in along["axes"].split(","))
    counted = COUNTED.search(line)
    return int(counted["size"]) if counted else 0


def _bytes(shape: re.Match[str]) -> int:
    elements = 1
    for size in filter(None, shape["sizes"].split(",")):
        elements *= int(size)
    bits = BITS.search(shape["type"].removeprefix("b"))
    return elements * (max(int(bits[0]), 8) // 8 if bits else 1)
