"""Sums that Grappler takes apart when memory seems short (memory_optimizer.cc, SchedulingPass).

TensorFlow says that its CPU device has 256 MiB. When a step's static peak comes near that, a sum of three or more
tensors that are alive at the peak is rewritten to add them up one by one, onto zeros that stay in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.grappler import cluster as grappler_cluster
from tensorflow.python.grappler import item

from planner_app.worker.rewrite import CPU, device_properties

CPU_MEMORY_BYTES = 256 << 20  # threadpool_device_factory.cc, the memory_limit of a CPU device
CROWDED = 0.8  # of it: memory_optimizer.cc
LARGEST_BATCH = 1 << 20


def crowded_sums(definition: Any, run: list[str]) -> tuple[list[str], int]:
    """The sums that would be taken apart, and the static peak of the step in bytes, at the batch traced with."""
    sums = {}
    for node in definition.node:
        inputs = [text for text in node.input if not text.startswith("^")]
        if node.op == "AddN" and len(inputs) > 2:
            sums[node.name] = inputs
    if not sums:
        return [], 0
    peak, alive = _static_peak(definition, run)
    return [name for name, inputs in sums.items() if any(_output(text) in alive for text in inputs)], peak


def first_crowded_batch(peak: int, traced: int, grown: Callable[[int], int]) -> int:
    """The batch from which on the static peak counts as crowded. It grows as our own count of what is alive does."""
    share = peak / max(grown(traced), 1)
    low, high = 0, LARGEST_BATCH
    while high - low > 1:
        middle = (low + high) // 2
        if grown(middle) * share > CROWDED * CPU_MEMORY_BYTES:
            high = middle
        else:
            low = middle
    return high


def _static_peak(definition: Any, run: list[str]) -> tuple[int, set[tuple[str, int]]]:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        wanted = graph.get_collection_ref("train_op")
        wanted.extend(graph.get_operation_by_name(name) for name in run)
        meta = tf.compat.v1.train.export_meta_graph(graph=graph)
    devices = grappler_cluster.Cluster(devices=[device_properties(CPU, "CPU", {})])
    peak, alive = devices.DeterminePeakMemoryUsage(item.Item(meta)).get(CPU, (0, []))
    return int(peak), {(tensor[0], tensor[1]) for tensor in alive}


def _output(text: str) -> tuple[str, int]:
    name, _, port = text.partition(":")
    return name, int(port or 0)
