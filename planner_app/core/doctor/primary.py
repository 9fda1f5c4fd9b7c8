"""Which of a log's failures the others follow from."""

from planner_app.core.doctor.diagnosis import Kind, Sure
from planner_app.core.doctor.log.seen import Report, Seen
from planner_app.core.doctor.signs import BY_NAME

# cuDNN or cuBLAS start with less than this; a driver that refuses less has nothing left.
NEXT_TO_NOTHING_BYTES = 64 << 20
# A device of which less was free when the program started is somebody else's.
CROWDED_BELOW = 0.1
_PROVEN, _ELSEWHERE, _LIKELY, _UNKNOWN, _POSSIBLE = range(5)


def primary(seen: Seen) -> Report | None:
    """What is proven comes first, then what is likely; of the same, the first: the others follow from it."""
    found = [(weight, report.line, report) for report in seen.reports if (weight := _weight(report, seen)) is not None]
    weight, _, best = min(found, key=lambda each: each[:2], default=(_POSSIBLE + 1, 0, None))
    if best is not None and best.sign == "kernel_killed":
        best = next((report for report in seen.reports if report.sign == "container_killed"), best)
    if best is not None and best.sign in ("xla", "ran_out") and (unified := _unified(best, seen)) is not None:
        return unified
    if weight > _PROVEN and (crowded := _crowded(seen)) is not None:
        return crowded
    if weight > _LIKELY and (refused := _refused(seen)) is not None:
        return refused
    return best


def _weight(report: Report, seen: Seen) -> int | None:
    """None for what the run recovered from."""
    sign = BY_NAME.get(report.sign)
    if sign is None:
        return None if recovered(report, seen) else _PROVEN
    if sign.recovers and seen.progress_line > report.last_line and seen.went_on:
        return None
    if sign.kind is Kind.OTHER_ERROR:
        return _ELSEWHERE if sign.sure is Sure.CERTAIN else _POSSIBLE
    if sign.sure is Sure.POSSIBLE:
        return _POSSIBLE
    if sign.kind is Kind.UNKNOWN:
        return _UNKNOWN
    return _PROVEN if sign.sure is Sure.CERTAIN else _LIKELY


def recovered(report: Report, seen: Seen, *, caught: bool = False) -> bool:
    """Steps were made behind it, and nothing in the log ended in an error: a script that tried a smaller batch.

    Of several processes one may fail while others go on. `caught`: the error may stand in the log; where that was
    written to a file, steps that were made before it may stand behind it, too.
    """
    before = report.progress.steps if report.progress is not None else 0
    behind = seen.progress_line > report.last_line and seen.progress.steps > before
    ended_badly = bool(seen.bad_line or seen.notes.get("exhausted"))
    return behind and not report.rank and (caught or not ended_badly)


def _unified(report: Report, seen: Seen) -> Report | None:
    """XLA's own error follows from the refusal of as much unified memory."""
    before = (each for each in seen.reports if each.sign == "unified" and each.line <= report.line)
    return next((each for each in before if _weight(each, seen) is not None), None)


def _crowded(seen: Seen) -> Report | None:
    """Nearly nothing of the device was free when the program started."""
    if seen.free_at_start is None or seen.free_at_start[1] >= seen.free_at_start[0] * CROWDED_BELOW:
        return None
    if seen.went_on and seen.progress.steps:
        return None
    lines = seen.notes["free_at_start"]
    report = Report("crowded", lines[0].line, evidence=list(lines))
    report.cuda_total, report.cuda_free = seen.free_at_start
    return report


def _refused(seen: Seen) -> Report | None:
    """The driver refused even next to nothing, or the run ended in an error after it had refused."""
    if not seen.refused:
        return None
    lines = seen.notes["refused"]
    nothing_left = min(seen.refused) < NEXT_TO_NOTHING_BYTES and not (seen.went_on and seen.progress.steps)
    gave_up = bool(seen.notes.get("exhausted")) and not seen.progress.steps
    if not nothing_left and not gave_up:
        return None
    return Report("refused", lines[0].line, requested=min(seen.refused), exact=True, evidence=list(lines))
