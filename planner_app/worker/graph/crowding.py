"""Sums that Grappler takes apart when memory seems short (memory_optimizer.cc, SchedulingPass).

TensorFlow says that its CPU device has 256 MiB. When a step's static peak comes near that, a sum of three or more
tensors that are alive at the peak is rewritten to add them up one by one, onto zeros that stay in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorflow.python.grappler import cluster as grappler_cluster
from tensorflow.python.grappler import item

from planner_app.worker.graph.rebatched import Rebatch
from planner_app.worker.graph.rewrite import CPU, device_properties

CPU_MEMORY_BYTES = 256 << 20  # threadpool_device_factory.cc, the memory_limit of a CPU device
MOST_GUESSES = 3
ENOUGH_BYTES = int(0.8 * CPU_MEMORY_BYTES)  # memory_optimizer.cc: above this share of it


def crowded_sums(meta: Any, traced: int, prime: int) -> dict[str, int]:
    """The sums that are taken apart, each with the batch from which on it is."""
    sums = {}
    for node in meta.graph_def.node:
        inputs = [text for text in node.input if not text.startswith("^")]
        if node.op == "AddN" and len(inputs) > 2:
            sums[node.name] = [_output(text) for text in inputs]
    if not sums:
        return {}

    def at(batch: int) -> tuple[int, list[str]]:
        peak, alive = _static_peak(meta if batch == traced else Rebatch(traced, prime, batch).graph(meta))
        return peak, [name for name, inputs in sums.items() if any(each in alive for each in inputs)]

    peak, names = at(traced)
    first, earlier = _first_crowded(at, traced, peak)
    return dict.fromkeys(names, traced) | dict.fromkeys(earlier, first) if first else {}


def _first_crowded(at: Callable[[int], tuple[int, list[str]]], traced: int, traced_peak: int) -> tuple[int, list[str]]:
    """The batch from which on the static peak counts as crowded, 0 for none that is traced, and the sums alive then.

    The peak grows in a straight line over most of the way, so that the first guess is nearly always right.
    """
    if traced_peak <= ENOUGH_BYTES:
        return 0, []
    low, (low_peak, names) = 1, at(1)
    if low_peak > ENOUGH_BYTES:
        return 1, names
    high, high_peak, names = traced, traced_peak, []
    guesses = 0
    while high - low > 1:
        guess = low + int((ENOUGH_BYTES - low_peak) * (high - low) / (high_peak - low_peak))
        guesses += 1
        # Where there is no straight line, what is left is halved.
        tried = (guess + 1, guess) if guesses <= MOST_GUESSES else ((low + high) // 2,)
        for batch in dict.fromkeys(max(low + 1, min(each, high - 1)) for each in tried):
            if low < batch < high:
                peak, alive = at(batch)
                if peak > ENOUGH_BYTES:
                    high, high_peak, names = batch, peak, alive
                else:
                    low, low_peak = batch, peak
    return high, names


def _static_peak(meta: Any) -> tuple[int, set[tuple[str, int]]]:
    devices = grappler_cluster.Cluster(devices=[device_properties(CPU, "CPU", {})])
    peak, alive = devices.DeterminePeakMemoryUsage(item.Item(meta)).get(CPU, (0, []))
    return int(peak), {(tensor[0], tensor[1]) for tensor in alive}


def _output(text: str) -> tuple[str, int]:
    name, _, port = text.partition(":")
    return name, int(port or 0)
