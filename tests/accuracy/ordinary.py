"""What the step takes as people run it: `train_on_batch` on TensorFlow's ordinary thread pool.

Operations that are ready start in an order that depends on addresses and on who is quicker, so the peak differs from
step to step and from process to process. That is what an estimate's band must cover.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf
from cases import Case
from training import arrays, compiled, one_or_list

STEPS = 5


def ordinary(file: Path, case: Case) -> dict[str, Any]:
    """The allocator's peak in each of some steps of one process."""
    model = compiled(file, case)
    inputs, targets = ([tf.constant(array) for array in part] for part in arrays(model, case.batch))
    peaks = []
    for _ in range(max(STEPS, case.accumulate + 1)):  # at least one step that updates, and one after it
        tf.config.experimental.reset_memory_stats("CPU:0")
        model.train_on_batch(one_or_list(inputs), one_or_list(targets))
        peaks.append(tf.config.experimental.get_memory_info("CPU:0")["peak"])
    return {"peak_bytes": peaks}
