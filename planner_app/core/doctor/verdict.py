"""From what a log said to what happened."""

from collections.abc import Callable, Sequence

from planner_app.core.doctor import remedies
from planner_app.core.doctor.cause import Cause, cause_of
from planner_app.core.doctor.diagnosis import NO_REPORT, Diagnosis, Finding, Framework, Holder, Kind, Other, Sure
from planner_app.core.doctor.figures import figures
from planner_app.core.doctor.holding import missing, shares, total_bytes
from planner_app.core.doctor.log.gathering import NEAR
from planner_app.core.doctor.log.seen import Evidence, Report, Seen
from planner_app.core.doctor.notes import harmless, notes
from planner_app.core.doctor.of_sign import KILLED, of_sign
from planner_app.core.doctor.place import Place, placed
from planner_app.core.doctor.primary import primary
from planner_app.core.doctor.questions import question
from planner_app.core.doctor.sentences import Told, tell
from planner_app.core.doctor.signs import BY_NAME
from planner_app.core.doctor.signs.device import ANOTHER, LOOK, NOW
from planner_app.units import format_bytes

MOST_HOLDERS = 10
MOST_OTHERS = 20


def judge(seen: Seen, layers: Sequence[str] = (), capacity: Callable[[str], int | None] | None = None) -> Diagnosis:
    """Args:
    layers: Paths of the model's layers, if it is known.
    capacity: What TensorFlow gets of a GPU of a name, or None; tells a GPU that is shared.
    """
    report = primary(seen)
    if report is None:
        return _without_report(seen)
    if report.sign in BY_NAME:
        return of_sign(report, seen, _others(report, seen), _more(seen))
    return _of_allocator(report, seen, layers, cause_of(report, figures(report, seen), seen, capacity))


def _of_allocator(report: Report, seen: Seen, layers: Sequence[str], cause: Cause) -> Diagnosis:
    numbers, kind = figures(report, seen), cause.kind
    place = _place(report, seen, layers)
    progress = report.progress or seen.progress
    framework = framework_of(report, seen)
    told = Told(report, numbers, seen, place, kind, cause.sure, progress, framework, cause.refused_by_driver)
    device = "host" if kind is Kind.HOST else report.device or _only_device(seen)
    return Diagnosis(
        kind=kind,
        verdict=tell(told, device),
        sure=cause.sure,
        why=told.why(),
        shares=() if kind is Kind.HOST else shares(report, numbers, seen),
        missing=missing(report, numbers, framework or "") if kind is not Kind.HOST else (),
        remedies=remedies.of(told),
        question=question(told),
        evidence=_evidence(report, seen, kind),
        framework=str(framework or ""),
        device=device,
        device_name=_name(seen, device),
        rank=report.rank,
        allocator=report.allocator,
        requested_bytes=report.requested or numbers.wanted_bytes,
        exact=report.exact,
        limit_bytes=None if kind is Kind.HOST else numbers.limit_bytes,
        total_bytes=None if kind is Kind.HOST else total_bytes(report, seen),
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
        batch=seen.batch,
        precision=seen.precision,
        version=seen.version,
        holders=_holders(report, seen, layers),
        notes=notes(seen, failed=True, told=kind in (Kind.OTHER_PROCESS, Kind.LIBRARIES)),
        others=_others(report, seen),
        more=_more(seen),
    )


def framework_of(report: Report, seen: Seen) -> Framework | None:
    if report.framework:
        return Framework(report.framework)
    if seen.of_jax:
        return Framework.JAX
    return Framework.TENSORFLOW if report.sign not in BY_NAME else None


def _without_report(seen: Seen) -> Diagnosis:
    found = notes(seen, failed=False)
    told = harmless(seen)
    if told is None and seen.refused:
        return _refused(seen, found)
    if told is None:
        return Diagnosis(Kind.NONE, NO_REPORT, notes=found, steps=seen.progress.steps)
    text, evidence = told
    return Diagnosis(Kind.HARMLESS, text, evidence=evidence, notes=found, steps=seen.progress.steps)


def _refused(seen: Seen, found: tuple[Finding, ...]) -> Diagnosis:
    device = _only_device(seen)
    return Diagnosis(
        Kind.UNKNOWN,
        f"The driver refused a region of {format_bytes(max(seen.refused))}: mostly the program goes on with a smaller "
        "one, but this log does not show whether it did.",
        sure=Sure.POSSIBLE,
        why=("What is refused at the start is mostly held by others: another process, a screen, a run that crashed.",),
        remedies=(LOOK, NOW),
        question=ANOTHER,
        evidence=tuple(seen.notes["refused"]),
        device=device,
        device_name=_name(seen, device),
        requested_bytes=max(seen.refused),
        exact=True,
        notes=found,
    )


def _others(report: Report, seen: Seen) -> tuple[Other, ...]:
    return tuple(
        Other(
            other.line,
            other.device,
            other.requested,
            other.operation,
            str(BY_NAME[other.sign].kind) if other.sign in BY_NAME else "",
        )
        for other in seen.reports
        if other is not report and not _says_the_same(other, report)
    )[:MOST_OTHERS]


def _says_the_same(other: Report, report: Report) -> bool:
    """That a process was killed follows from its killer; a heading says no more than its error."""
    if other.sign == "some_memory" and other.rank == report.rank:
        return report.line - NEAR <= other.line <= report.last_line + NEAR
    killer = BY_NAME.get(report.sign)
    return killer is not None and killer.kind is Kind.HOST and other.sign in KILLED


def _more(seen: Seen) -> int:
    return max(0, len(seen.reports) - 1 - MOST_OTHERS) + seen.more_reports


def _place(report: Report, seen: Seen, layers: Sequence[str]) -> Place:
    operation, copied = report.operation, report.copied or bool(report.copied_for)
    if not operation and report.xla_buffers:
        operation = report.xla_buffers[0][1]
    if copied:
        operation = report.copied_for
    numbered = bool(seen.notes.get("keras3")) or operation.removeprefix("StatefulPartitionedCall/").startswith(
        ("functional_", "sequential_1/")
    )
    if operation.endswith("/xla_run"):
        return Place(operation)  # a whole cluster
    if operation.startswith(("jit(", "pjit(", "pmap(")) and not layers:
        return Place(operation)  # JAX's scopes are functions, not layers
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
    return tuple(
        Holder(f"{count:,} {'chunk' if count == 1 else 'chunks'} of {size:,} bytes", size * count, count)
        for size, count in most
    )


def _evidence(report: Report, seen: Seen, kind: Kind) -> tuple[Evidence, ...]:
    lines = list(report.evidence)
    if kind is Kind.OTHER_PROCESS:
        lines += [device.evidence for device in seen.devices if device.device == report.device or not report.device]
        lines += [*seen.notes.get("free_at_start", ()), *seen.notes.get("smi_process", ())]
        lines += seen.notes.get("refused", ())
    unique = {evidence.line: evidence for evidence in lines}
    return tuple(unique[number] for number in sorted(unique))


def _only_device(seen: Seen) -> str:
    return seen.devices[0].device if len(seen.devices) == 1 else ""


def _name(seen: Seen, device: str) -> str:
    if not seen.devices and len(seen.gpu_names) == 1 and not device.startswith(("CPU", "host")):
        return next(iter(seen.gpu_names))
    return next((found.name for found in seen.devices if found.device == device), "")
