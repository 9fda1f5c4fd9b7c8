"""One sentence: does the chosen setup fit, and by how much?"""

from planner_app.core.estimate.curve import Level, level
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.measure.calibration import Calibration, calibrated_level
from planner_app.core.replay.memory import Memory
from planner_app.gui.choice import Choice
from planner_app.units import format_bytes


def verdict(choice: Choice, memory: Memory, learnt: Calibration | None = None) -> tuple[str, bool | None]:
    """The sentence, and whether it fits: None where nothing limits it."""
    setup, found = choice.setup, level(memory, choice.setup.per_gpu_batch)
    limit = allocator_limit_bytes(choice.device)
    if learnt is not None:
        found, limit = calibrated_level(found, learnt), (limit and learnt.limit_bytes) or limit
    name = "the CPU" if not choice.device.cuda else choice.device.name
    where = name if setup.gpus == 1 else f"each of {setup.gpus} x {name}"
    need = f"A batch of {setup.batch:,} in {setup.precision} takes {format_bytes(found.peak_bytes)} on {where}"
    if limit is None:
        return f"{need}; nothing limits it there.", None
    if found.peak_bytes > limit:
        over = format_bytes(found.peak_bytes - limit)
        return f"Does not fit. {need}, {over} more than TensorFlow can use there.", False
    left = format_bytes(limit - found.peak_bytes)
    return f"Fits. {need}, {left} to spare.{_doubt(found, limit)}", True


def _doubt(found: Level, limit: int) -> str:
    if found.high_bytes <= limit:
        return ""
    return f" It may take up to {format_bytes(found.high_bytes)}, which would not fit."
