"""Sums that Grappler takes apart when memory seems short (memory_optimizer.cc, SchedulingPass).

TensorFlow says that its CPU device has 256 MiB. When a step's static peak comes near that, a sum of three or more
tensors that are alive at the peak is rewritten to add them up one by one, onto zeros that stay in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorflow.python.grappler import cluster as grappler_cluster
from tensorflow.python.grappler import item

from planner_app.worker.graph.rewrite import CPU, device_properties

CPU_MEMORY_BYTES = 256 << 20  # threadpool_device_factory.cc, the memory_limit of a CPU device
CROWDED = 0.8  # of it: memory_optimizer.cc
LARGEST_BATCH = 1 << 20


def crowded_sums(meta: Any) -> tuple[list[str], int]:
    """The sums that would be taken apart, and the static peak of the step in bytes, at the batch traced with."""
    sums = {}
    for node in meta.graph_def.node:
        inputs = [text for text in node.input if not text.startswith("^")]
        if node.op == "AddN" and len(inputs) > 2:
            sums[node.name] = inputs
    if not sums:
        return [], 0
    peak, alive = _static_peak(meta)
    return [name for name, inputs in sums.items() if any(_output(text) in alive for text in inputs)], peak


def first_crowded_batch(peak: int, traced: int, grown: Callable[[int], int]) -> int:
    """The batch from which on the static peak counts as crowded. It grows as our own count of what is alive does."""
    share = peak / max(grown(traced), 1)
    enough = CROWDED * CPU_MEMORY_BYTES / share
    low, high = 0, 1
    while grown(high) <= enough and high < LARGEST_BATCH:
        low, high = high, high * 2
    while high - low > max(1, low // 16):  # the static peak is no better known than that
        middle = (low + high) // 2
        low, high = (low, middle) if grown(middle) > enough else (middle, high)
    return high


def _static_peak(meta: Any) -> tuple[int, set[tuple[str, int]]]:
    devices = grappler_cluster.Cluster(devices=[device_properties(CPU, "CPU", {})])
    peak, alive = devices.DeterminePeakMemoryUsage(item.Item(meta)).get(CPU, (0, []))
    return int(peak), {(tensor[0], tensor[1]) for tensor in alive}


def _output(text: str) -> tuple[str, int]:
    name, _, port = text.partition(":")
    return name, int(port or 0)
