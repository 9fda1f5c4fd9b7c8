"""Who held the device's memory, from the numbers of the log, and what the log does not tell."""

from collections.abc import Iterator

from planner_app.core.doctor.diagnosis import Framework, Share
from planner_app.core.doctor.figures import Figures
from planner_app.core.doctor.log.seen import Report, Seen

SPEAKS_OF_ALLOCATOR = ("ran_out", "oom", "xla", "copy", "scratch")
LEVEL = (
    "The log does not tell how much was in use, nor of how much: the allocator writes that just before the error, "
    "where TF_CPP_MIN_LOG_LEVEL is 0."
)


def total_bytes(report: Report, seen: Seen) -> int | None:
    """All of the device's memory, where the log tells."""
    if report.cuda_total:
        return report.cuda_total
    if len(seen.devices) <= 1:
        return seen.free_at_start[0] if seen.free_at_start else seen.total_at_start
    return None


def others_bytes(report: Report, seen: Seen) -> int | None:
    """What neither this process nor anybody at all holds: other processes', as far as CUDA told."""
    total, free = report.cuda_total, report.cuda_free
    own = report.process_bytes or report.stats.get("InUse") or report.in_use
    if own is not None and not report.process_bytes:
        own += report.idle_bytes or 0
    if total and free is not None and own is not None:
        return max(0, total - free - own)
    if seen.free_at_start:
        return seen.free_at_start[0] - seen.free_at_start[1]
    return None


def shares(report: Report, numbers: Figures, seen: Seen) -> tuple[Share, ...]:
    return tuple(share for share in _shares(report, numbers, seen) if share.size_bytes > 0)


def _shares(report: Report, numbers: Figures, seen: Seen) -> Iterator[Share]:
    in_use, limit = numbers.in_use_bytes, numbers.limit_bytes
    if report.framework == Framework.PYTORCH:
        yield from _of_pytorch(report)
        return
    if in_use is None:
        return
    yield Share("this process: tensors", in_use)
    if report.cuda_total and report.cuda_free is not None:
        yield Share("other processes, CUDA and its libraries", others_bytes(report, seen) or 0)
        yield Share("free on the device", report.cuda_free)
        return
    if limit is None:
        return
    taken = limit - (numbers.available_bytes or 0) if numbers.available_bytes is not None else report.pool
    if taken is not None:
        yield Share("this process: free in its allocator", taken - in_use)
        yield Share("allowed to it, but not taken yet", limit - taken)
    else:
        yield Share("free in its allocator", limit - in_use)
    total = total_bytes(report, seen)
    if total:
        yield Share("outside of its allocator: CUDA, libraries, other processes", total - limit)


def _of_pytorch(report: Report) -> Iterator[Share]:
    if report.in_use is not None:
        yield Share("this process: tensors", report.in_use)
    if report.idle_bytes is not None:
        yield Share("this process: reserved, not used", report.idle_bytes)
    known = (report.in_use or 0) + (report.idle_bytes or 0)
    if report.process_bytes is not None:
        yield Share("this process: CUDA and its libraries", report.process_bytes - known)
    if report.cuda_total and report.cuda_free is not None:
        own = max(report.process_bytes or 0, known)
        yield Share("other processes, or CUDA's own", report.cuda_total - report.cuda_free - own)
        yield Share("free on the device", report.cuda_free)


def missing(report: Report, numbers: Figures, framework: str) -> tuple[str, ...]:
    if report.sign not in SPEAKS_OF_ALLOCATOR or framework == Framework.PYTORCH:
        return ()
    if numbers.limit_bytes is None and numbers.in_use_bytes is None:
        return (LEVEL,)
    if report.requested is None and numbers.wanted_bytes is None and not report.copied:
        return ("The line that says what was asked for is missing: give the log from further up.",)
    if numbers.in_use_bytes is None:
        return ("The log does not tell how much was in use by then: the allocator's own lines are missing.",)
    return ()
