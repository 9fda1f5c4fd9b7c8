"""What a log says beside its failure, if there is one: mostly that lines which look like errors are none."""

from planner_app.core.doctor.diagnosis import Finding
from planner_app.core.doctor.seen import Evidence, Seen
from planner_app.units import format_bytes


def notes(seen: Seen, *, failed: bool, told: bool = False) -> tuple[Finding, ...]:
    """`told`: the verdict itself speaks of what the driver refused."""
    found = []
    if seen.workspace:
        found.append(
            Finding(
                f"{_times(seen.counts['workspace'], 'warning')} of a scratch request that was refused (up to "
                f"{format_bytes(max(seen.workspace))}) {'are' if seen.counts['workspace'] > 1 else 'is'} no failure: "
                "a convolution then runs with less scratch, perhaps slower.",
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
                "An allocation above 10 % of the machine's free memory is a warning, no failure.",
                _kept(seen, "host_warning"),
            )
        )
    if seen.counts["versions"]:
        found.append(
            Finding(
                "cuDNN could not start because another version is installed than TensorFlow was built with: that is "
                "no shortage of memory.",
                _kept(seen, "versions"),
            )
        )
    if not failed and seen.counts["exhausted"]:
        found.append(
            Finding(
                "Something was exhausted, but the lines that say what are missing: give the whole log, from the first "
                "line of TensorFlow's on.",
                _kept(seen, "exhausted"),
            )
        )
    if not failed and seen.counts["killed_word"]:
        found.append(
            Finding(
                "A process was killed; nothing in this log says by whom. `dmesg` tells whether it was for want of "
                "memory.",
                _kept(seen, "killed_word"),
            )
        )
    if seen.counts["pytorch"]:
        found.append(Finding("An error of PyTorch's, which this program does not know.", _kept(seen, "pytorch")))
    return tuple(found)


def harmless(seen: Seen) -> tuple[str, tuple[Evidence, ...]] | None:
    """The verdict on a log that holds warnings about memory and no failure."""
    if seen.workspace:
        return (
            "Nothing failed: TensorFlow only warns that a kernel got less scratch memory than it would have liked.",
            _kept(seen, "workspace"),
        )
    if seen.refused:
        return (
            f"Nothing failed: the driver refused a region of {format_bytes(max(seen.refused))}, and TensorFlow took a "
            "smaller one.",
            _kept(seen, "refused"),
        )
    if seen.counts["host_warning"]:
        return "Nothing failed: a large allocation on the host is only a warning.", _kept(seen, "host_warning")
    return None


def _kept(seen: Seen, name: str) -> tuple[Evidence, ...]:
    return tuple(seen.notes.get(name, ()))


def _times(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count > 1 else ''}"
