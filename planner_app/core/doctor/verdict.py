"""From what a log said to what happened."""

from collections.abc import Callable, Sequence

from planner_app.core.doctor import remedies
from planner_app.core.doctor.diagnosis import NO_REPORT, Diagnosis, Holder, Kind, Other
from planner_app.core.doctor.figures import Figures, figures
from planner_app.core.doctor.notes import harmless, notes
from planner_app.core.doctor.place import Place, placed
from planner_app.core.doctor.seen import Evidence, Report, Seen
from planner_app.core.doctor.sentences import Told, tell

CAPACITY = Callable[[str], int | None]

# Keras prints a step's line when the step has ended, so one line is one step. A step that has run this often has seen
# its peak: what fails later is something that grew.
STEPS_THAT_SHOW_THE_PEAK = 3
FITS_THAT_PILE_UP = 3
MOST_HOLDERS = 10
MOST_OTHERS = 20
# Where less of the limit lay free, in pieces, the step was near its end anyway: a shortage.
FREE_SHARE = 0.2
# cuDNN or cuBLAS start with less than this; a driver that refuses less has nothing left.
NEXT_TO_NOTHING_BYTES = 64 << 20
# A device of which TensorFlow was given less than this share of what it should get is shared with somebody.
SHARED_BELOW = 0.8
_HOST_ALLOCATORS = ("cpu", "mklcpu", "mkl_cpu", "cuda_host_bfc", "gpu_host_bfc")


def judge(seen: Seen, layers: Sequence[str] = (), capacity: CAPACITY | None = None) -> Diagnosis:
    """Args:
    layers: Paths of the model's layers, if it is known.
    capacity: What TensorFlow gets of a GPU of a name, or None; tells a GPU that is shared.
    """
    report = _first(seen)
    if report is None:
        return _without_report(seen)
    numbers = figures(report, seen)
    kind = _kind(report, numbers, seen, capacity)
    place = _place(report, seen, layers)
    progress = report.progress or seen.progress
    told = Told(report, numbers, seen, place, kind, progress)
    device = "host" if kind is Kind.HOST else report.device or _only_device(seen)
    return Diagnosis(
        kind=kind,
        verdict=tell(told, device),
        why=told.why(),
        remedies=remedies.of(told),
        evidence=_evidence(report, seen, kind),
        device=device,
        device_name=_name(seen, device),
        allocator=report.allocator,
        requested_bytes=report.requested or numbers.wanted_bytes,
        exact=report.exact,
        limit_bytes=None if kind is Kind.HOST else numbers.limit_bytes,
        in_use_bytes=numbers.in_use_bytes,
        free_bytes=numbers.free_bytes,
        largest_free_bytes=numbers.largest_bytes,
        peak_bytes=report.stats.get("MaxInUse"),
        shape=report.shape,
        dtype=report.dtype,
        operation=place.operation,
        layer=place.layer,
        phase=place.phase,
        term=place.term,
        kernel=report.kernel,
        during=report.during,
        in_first_step=progress.steps == 0 if progress.fits or progress.steps else None,
        steps=progress.steps,
        holders=_holders(report, seen, layers),
        notes=notes(seen, failed=True, told=kind in (Kind.OTHER_PROCESS, Kind.LIBRARIES)),
        others=tuple(
            Other(other.line, other.device, other.requested, other.operation)
            for other in seen.reports
            if other is not report
        )[:MOST_OTHERS],
        more=max(0, len(seen.reports) - 1 - MOST_OTHERS) + seen.more_reports,
    )


def _first(seen: Seen) -> Report | None:
    """The failure that the others follow from: the first. A library that could not start is one only alone."""
    for report in seen.reports:
        if report.sign != "handle" or not seen.notes.get("versions"):
            return report
    if seen.refused and _gave_up(seen):
        refused = seen.notes["refused"]
        return Report("refused", refused[0].line, requested=min(seen.refused), exact=True, evidence=list(refused))
    if seen.notes.get("killed_word") and _trained(seen):
        killed = seen.notes["killed_word"]
        return Report("killed_word", killed[0].line, evidence=list(killed), progress=seen.progress)
    return None


def _gave_up(seen: Seen) -> bool:
    """The driver refused even next to nothing, or the run ended in an error after it had refused."""
    return min(seen.refused) < NEXT_TO_NOTHING_BYTES or (bool(seen.notes.get("exhausted")) and not seen.progress.steps)


def _trained(seen: Seen) -> bool:
    """Whether this is the log of a training at all: the word "Killed" alone can mean anything."""
    return bool(seen.devices or seen.progress.fits or seen.progress.steps or seen.notes.get("host_warning"))


def _without_report(seen: Seen) -> Diagnosis:
    found = notes(seen, failed=False)
    told = harmless(seen)
    if told is None:
        return Diagnosis(Kind.NONE, NO_REPORT, notes=found)
    text, evidence = told
    return Diagnosis(Kind.HARMLESS, text, evidence=evidence, notes=found, in_first_step=None, steps=seen.progress.steps)


def _kind(report: Report, numbers: Figures, seen: Seen, capacity: CAPACITY | None) -> Kind:
    if report.sign in ("killed", "killed_word", "memory_error") or report.allocator in _HOST_ALLOCATORS:
        return Kind.HOST
    if report.sign in ("refused", "no_context"):
        return Kind.OTHER_PROCESS
    if report.sign in ("handle", "nccl"):
        return Kind.LIBRARIES
    if numbers.limit_bytes and report.requested and report.requested > numbers.limit_bytes:
        return Kind.XLA if report.xla else Kind.COPIED_ARRAY if _whole_array(report) else Kind.TOO_LARGE
    if _refused_by_driver(report, numbers) or _shared(report, seen, capacity):
        return Kind.OTHER_PROCESS
    if _whole_array(report):
        return Kind.COPIED_ARRAY
    if _grew(report):
        return Kind.LEAK
    if numbers.fragmented and (numbers.free_bytes or 0) >= FREE_SHARE * (numbers.limit_bytes or 0):
        return Kind.FRAGMENTED
    return Kind.XLA if report.xla else Kind.SHORTAGE


def _whole_array(report: Report) -> bool:
    """Eager constants are arrays of the user's; fit() of 2.2 to 2.4 gathered batches from a copy on the GPU."""
    wanted = report.copied_for or (report.operation if report.eager or report.copied else "")
    return wanted in ("_EagerConst", "GatherV2", "StridedSlice", "TensorSliceDataset") or (
        report.operation == "_EagerConst"
    )


def _refused_by_driver(report: Report, numbers: Figures) -> bool:
    """The allocator was allowed to take what was asked for, and the device did not have it."""
    if report.cuda_free is not None and report.cuda_total:
        others = report.cuda_total - report.cuda_free - report.stats.get("InUse", 0)
        return others > report.cuda_total // 4 and (report.requested or 0) <= report.cuda_total
    return bool(report.requested and numbers.available_bytes and report.requested <= numbers.available_bytes)


def _shared(report: Report, seen: Seen, capacity: CAPACITY | None) -> bool:
    """TensorFlow was given far less of the device than of an idle one of its kind."""
    if seen.free_at_start and seen.free_at_start[1] < seen.free_at_start[0] * (SHARED_BELOW - 0.1):
        return True
    for device in seen.devices:
        if device.device in (report.device, "") or len(seen.devices) == 1:
            expected = capacity(device.name) if capacity else None
            return expected is not None and device.limit_bytes < expected * SHARED_BELOW
    return False


def _grew(report: Report) -> bool:
    progress = report.progress
    if progress is None:
        return False
    if progress.fits >= FITS_THAT_PILE_UP:
        return True
    # At the end of an epoch validation starts, with a peak of its own: that is no growth, unless it went well before.
    validates = bool(report.during) or (bool(progress.of) and progress.step >= progress.of)
    return progress.steps >= STEPS_THAT_SHOW_THE_PEAK and not (validates and progress.epoch <= 1)


def _place(report: Report, seen: Seen, layers: Sequence[str]) -> Place:
    operation, copied = report.operation, report.copied or bool(report.copied_for)
    if not operation and report.xla_buffers:
        operation = report.xla_buffers[0][1]
    if copied:
        operation = report.copied_for
    numbered = bool(seen.notes.get("keras3")) or operation.removeprefix("StatefulPartitionedCall/").startswith(
        ("functional_", "sequential_1/")
    )
    return placed(
        operation.removeprefix("StatefulPartitionedCall/"),
        eager=report.eager,
        made=report.made,
        temporary=report.temporary,
        shape=report.shape,
        copied=copied,
        numbered=numbered,
        layers=layers,
    )


def _holders(report: Report, seen: Seen, layers: Sequence[str]) -> tuple[Holder, ...]:
    if report.holders:
        numbered = bool(seen.notes.get("keras3"))
        return tuple(
            Holder(name, size, layer=placed(name, numbered=numbered, layers=layers).layer)
            for name, size in report.holders.most_common(MOST_HOLDERS)
        )
    if report.xla_buffers:
        return tuple(Holder(name or "a buffer", size) for size, name in report.xla_buffers[:MOST_HOLDERS])
    most = sorted(report.by_size.items(), key=lambda each: -each[0] * each[1])[:MOST_HOLDERS]
    return tuple(Holder(f"{count} chunks of {size} bytes", size * count, count) for size, count in most)


def _evidence(report: Report, seen: Seen, kind: Kind) -> tuple[Evidence, ...]:
    lines = list(report.evidence)
    if kind is Kind.OTHER_PROCESS:
        lines += [device.evidence for device in seen.devices if device.device == report.device or not report.device]
        lines += [*seen.notes.get("free_at_start", ()), *seen.notes.get("smi_process", ())]
    if kind in (Kind.LIBRARIES, Kind.OTHER_PROCESS):
        lines += seen.notes.get("refused", ())
    unique = {evidence.line: evidence for evidence in lines}
    return tuple(unique[number] for number in sorted(unique))


def _only_device(seen: Seen) -> str:
    return seen.devices[0].device if len(seen.devices) == 1 else ""


def _name(seen: Seen, device: str) -> str:
    return next((found.name for found in seen.devices if found.device == device), "")
