"""One sentence: does the chosen setup fit, and by how much?"""

from planner_app.core.estimate.level import FROM, Source
from planner_app.core.estimate.need import Need
from planner_app.core.estimate.verdict import Verdict, judge
from planner_app.gui.state.choice import Choice
from planner_app.units import format_bytes


def verdict(choice: Choice, need: Need) -> tuple[str, Verdict | None]:
    """The sentence and the verdict; None without a limit."""
    setup, found = choice.setup, need.level_on_line(choice.setup.per_gpu_batch)
    limit = need.capacity_bytes
    name = "the CPU" if not choice.device.cuda else choice.device.name
    each = "" if setup.gpus == 1 else " on each GPU"
    by = [] if found.source is Source.ESTIMATE else [FROM[found.source]]
    if need.line.trouble:
        by.append("the compiler gave no figure")
    needed = f"A batch of {setup.batch:,} needs {format_bytes(found.peak_bytes)}{each}"
    if by:
        needed += f" ({'; '.join(by)})"
    if limit is None:
        return f"{needed} on {name}, which has no limit.", None
    needed = f"{needed} of the {format_bytes(limit)} that {setup.backend.label} gets on {name}"
    answer = judge(found, limit)
    if answer is Verdict.DOES_NOT_FIT:
        return f"Does not fit. {needed}: {format_bytes(found.peak_bytes - limit)} too much.", answer
    if answer is Verdict.TIGHT:
        return f"Tight. {needed}, and may need up to {format_bytes(found.high_bytes)}.", answer
    return f"Fits. {needed}, at most {format_bytes(found.high_bytes)}.", answer
