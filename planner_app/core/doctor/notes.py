"""What a log says beside its failure, if there is one: mostly that lines which look like errors aren't."""

from planner_app.core.doctor.diagnosis import Finding
from planner_app.core.doctor.log.seen import Evidence, Seen
from planner_app.core.doctor.primary import recovered
from planner_app.core.doctor.signs import BY_NAME
from planner_app.units import format_bytes


def notes(seen: Seen, *, failed: bool, told: bool = False) -> tuple[Finding, ...]:
    """`told`: the verdict itself speaks of what the driver refused."""
    found = []
    if seen.workspace:
        found.append(
            Finding(
                f"{_times(seen.counts['workspace'], 'warning')} of a scratch request that was refused (up to "
                f"{format_bytes(max(seen.workspace))}) {'are' if seen.counts['workspace'] > 1 else 'is'} not a "
                "failure: a convolution then runs with less scratch, perhaps slower.",
                _kept(seen, "workspace"),
            )
        )
    if seen.refused and not told and (failed or seen.workspace):
        found.append(
            Finding(
                f"The driver refused {_times(len(seen.refused), 'request')} of TensorFlow's for a region of memory "
                f"({format_bytes(max(seen.refused))} down to {format_bytes(min(seen.refused))}): harmless by itself, "
                "since TensorFlow goes on with a smaller region.",
                _kept(seen, "refused"),
            )
        )
    if seen.counts["collected"]:
        found.append(
            Finding(
                "TensorFlow gave free regions back to the device to take a larger one: with memory growth, regions "
                "that were taken earlier are too small.",
                _kept(seen, "collected"),
            )
        )
    if seen.retraced:
        times, calls = seen.retraced
        found.append(
            Finding(
                f"{times} of the last {calls} calls traced the function anew: a new shape or a new Python value each "
                "time. Every trace stays in memory, and so does every program that XLA compiles of it.",
                _kept(seen, "retraced"),
            )
        )
    if seen.counts["host_warning"]:
        found.append(
            Finding(
                "A warning of a large allocation on the machine is not a failure.",
                _kept(seen, "host_warning"),
            )
        )
    if seen.counts["versions"]:
        found.append(
            Finding(
                "cuDNN could not start because another version is installed than TensorFlow was built with: that is "
                "not a shortage of memory.",
                _kept(seen, "versions"),
            )
        )
    if not failed and seen.counts["exhausted"] and not seen.counts["tried"]:
        found.append(
            Finding(
                "Something was exhausted, but the lines that say what are missing: give the whole log, from the first "
                "line of TensorFlow's on.",
                _kept(seen, "exhausted"),
            )
        )
    if seen.counts["tried"]:
        found.append(
            Finding(
                "XLA had no room to try a faster kernel and took another: a warning, not a failure.",
                _kept(seen, "tried"),
            )
        )
    if seen.counts["remat_short"]:
        found.append(
            Finding(
                "XLA could not bring the program's memory down to what it aims at: a warning, but the program may not "
                "fit.",
                _kept(seen, "remat_short"),
            )
        )
    if seen.counts["buffer_filled"]:
        found.append(
            Finding("A shuffle buffer was being filled: it lies in the machine's memory.", _kept(seen, "buffer_filled"))
        )
    if not failed and seen.last_error is not None and not seen.counts["exhausted"]:
        found.append(Finding("There is an error in this log, but it does not speak of memory.", (seen.last_error,)))
    return tuple(found)


def harmless(seen: Seen) -> tuple[str, tuple[Evidence, ...]] | None:
    """The verdict on a log that holds warnings about memory and no failure."""
    refused = [report for report in seen.reports if report.sign in BY_NAME and BY_NAME[report.sign].recovers]
    if refused and seen.went_on:
        return (
            "Nothing failed: the driver refused a request for memory, and the program went on with less.",
            tuple(refused[0].evidence),
        )
    if caught := [report for report in seen.reports if recovered(report, seen)]:
        return (
            f"Memory ran out at line {caught[-1].line}, and the training went on behind it, probably with a smaller "
            "batch: no error ended it.",
            tuple(caught[-1].evidence),
        )
    nothing = "No memory ran out" if seen.last_error is not None else "Nothing failed"
    if seen.workspace:
        return (
            f"{nothing}: TensorFlow only warns that a kernel got less scratch memory than it would have liked.",
            _kept(seen, "workspace"),
        )
    if seen.refused and not seen.took_less:
        return None
    if seen.refused:
        return (
            f"{nothing}: the driver refused a region of {format_bytes(max(seen.refused))}, and TensorFlow took a "
            "smaller one.",
            _kept(seen, "refused"),
        )
    if seen.counts["tried"] and not seen.bad_line:
        return "Nothing failed: XLA had no room to try a faster kernel and took another.", _kept(seen, "tried")
    if seen.counts["host_warning"] and not seen.bad_line:
        return "Nothing failed: a large allocation on the host is only a warning.", _kept(seen, "host_warning")
    return None


def _kept(seen: Seen, name: str) -> tuple[Evidence, ...]:
    return tuple(seen.notes.get(name, ()))


def _times(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"
