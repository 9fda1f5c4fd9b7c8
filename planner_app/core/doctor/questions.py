"""The question whose answer would decide what the log leaves open."""

from planner_app.core.doctor.cause import kept_alike
from planner_app.core.doctor.diagnosis import Kind, Sure
from planner_app.core.doctor.primary import recovered
from planner_app.core.doctor.sentences import SMALL_BYTES, Told
from planner_app.core.doctor.signs.device import ANOTHER

WENT_ON = "Did the script catch the error and try a smaller batch? Steps stand behind it in the log."
LIMITED = "Did the script set a memory limit (memory_limit, a memory fraction), or did another program run?"


def question(told: Told) -> str:
    report = told.report
    match told.kind:
        case Kind.SHORTAGE if count := kept_alike(report):
            return (
                f"Does the program keep results from step to step, losses or outputs in a list? {count} tensors of "
                "just that size are in memory."
            )
        case Kind.SHORTAGE if (report.cuda_free or 0) >= (report.requested or 0) > 0:
            return LIMITED
        case Kind.OTHER_PROCESS if told.sure is not Sure.CERTAIN and told.refused_by_driver:
            return ANOTHER
        case Kind.OTHER_PROCESS if told.sure is not Sure.CERTAIN:
            return LIMITED
        case Kind.LEAK if told.progress.fits <= 1 and not told.seen.retraced:
            return "Do all batches have the same shape? If so, something is kept from step to step; if not, one grew."
        case Kind.LEAK if told.progress.fits > 1:
            return (
                "Did these calls of fit() run in one process? If so, earlier ones are kept; if not, this one is larger."
            )
        case Kind.SHORTAGE | Kind.XLA if (
            told.numbers.in_use_bytes is None
            and report.requested is not None
            and report.requested < SMALL_BYTES
            and not report.device.startswith("CPU")
        ):
            return ANOTHER
        case Kind.HOST if told.sure is not Sure.CERTAIN:
            return (
                "Did it run on the CPU? There XLA writes this message; on a GPU its allocator would have spoken first."
            )
    return WENT_ON if recovered(report, told.seen, caught=True) else ""
