"""The diagnosis of a log whose failure one line tells: the sign's row, filled in."""

from dataclasses import replace

from planner_app.core.doctor.diagnosis import Diagnosis, Framework, Kind, Other, Sure
from planner_app.core.doctor.log.matching import Found, bytes_of
from planner_app.core.doctor.log.seen import Evidence, Report, Seen
from planner_app.core.doctor.notes import notes
from planner_app.core.doctor.signs import BY_NAME, Sign
from planner_app.core.doctor.signs.device import DEVICE_SIGNS, GROWTH, KERAS_ONLY, LIMIT, NO_XLA
from planner_app.core.doctor.signs.host import PIPELINE
from planner_app.core.doctor.signs.sign import told
from planner_app.units import format_bytes

# A library that could not start although this much was free did not fail for want of memory.
PLENTY_BYTES, PLENTY_SHARE = 1 << 30, 0.1
_ON_DEVICE = frozenset(sign.name for sign in DEVICE_SIGNS)
OF_TENSORFLOW = (PIPELINE, GROWTH, LIMIT, NO_XLA)
KILLED = ("killed", "exit_code", "kernel_restarted", "worker_lost")
LARGE = "Warnings of large allocations on the machine stand in the log, too."
NOT_BY_LIMIT = (
    "Docker did not see its memory limit kill the container (OOMKilled is false): somebody stopped it, or the kernel "
    "killed it because the whole machine ran out."
)
VERSION = (
    "Not memory: cuDNN could not start because another version is installed than the program was built with.",
    "Install the cuDNN that this TensorFlow names: pip install tensorflow[and-cuda] brings it along.",
)


def of_sign(report: Report, seen: Seen, others: tuple[Other, ...], more: int) -> Diagnosis:
    sign = BY_NAME[report.sign]
    found: Found = report.told
    trained = bool(seen.devices or seen.progress.fits or seen.progress.steps or seen.notes.get("program"))
    progress = report.progress or seen.progress
    kind, sure = _weighed(sign, trained, bool(seen.notes.get("host_warning") or seen.notes.get("buffer_filled")))
    if kind is Kind.LIBRARIES and seen.refused:
        sure = Sure.CERTAIN  # the driver itself said that nothing was left
    diagnosis = Diagnosis(
        kind=kind,
        verdict=told(sign.says, found)[0],
        sure=sure,
        why=(
            *_so_far(progress.steps),
            *((LARGE,) if kind is Kind.HOST and sure is Sure.LIKELY and seen.notes.get("host_warning") else ()),
            *told(sign.means, found),
            *((NOT_BY_LIMIT,) if kind is Kind.KILLED and seen.notes.get("not_oom_killed") else ()),
            *_free(report),
        ),
        remedies=_remedies(sign, found, seen),
        question=sign.asks,
        evidence=_evidence(report, seen, kind),
        framework=str(_framework(seen, trained) or ""),
        device=_device(report, seen, kind),
        device_name=seen.devices[0].name if len(seen.devices) == 1 and sign.name in _ON_DEVICE else "",
        rank=report.rank,
        requested_bytes=bytes_of(found, "size") if "size_unit" in found or "size" in found else None,
        total_bytes=report.cuda_total,
        free_bytes=report.cuda_free,
        in_first_step=None if kind in (Kind.HOST, Kind.KILLED) or not progress.fits else progress.steps == 0,
        steps=progress.steps,
        batch=seen.batch,
        precision=seen.precision,
        version=seen.version,
        notes=notes(seen, failed=True, told=kind is Kind.LIBRARIES),
        others=others,
        more=more,
    )
    return _library(diagnosis, report, seen) if sign.name == "library_start" else diagnosis


def _weighed(sign: Sign, trained: bool, warned: bool) -> tuple[Kind, Sure]:
    """A training that is killed mostly ran out of memory, and so did what took much of it; else nobody knows."""
    if sign.name in KILLED:
        memory = warned or (trained and sign.sure is Sure.LIKELY)
        return (Kind.HOST, Sure.LIKELY) if memory else (Kind.KILLED, Sure.POSSIBLE)
    return sign.kind, sign.sure


def _library(diagnosis: Diagnosis, report: Report, seen: Seen) -> Diagnosis:
    """What is installed, or what was free, may prove that it was not memory."""
    if seen.notes.get("versions"):
        verdict, remedy = VERSION
        return replace(
            diagnosis,
            kind=Kind.OTHER_ERROR,
            sure=Sure.CERTAIN,
            verdict=verdict,
            why=(),
            remedies=(remedy,),
            question="",
            evidence=_sorted((*diagnosis.evidence, *seen.notes["versions"])),
        )
    free, total = report.cuda_free, report.cuda_total
    if free is None or not total:
        return diagnosis
    if free > PLENTY_BYTES and free > total * PLENTY_SHARE:
        return replace(
            diagnosis,
            kind=Kind.OTHER_ERROR,
            sure=Sure.LIKELY,
            verdict=f"Probably not memory: a CUDA library could not start although {format_bytes(free)} of the GPU's "
            f"{format_bytes(total)} were free.",
            why=("Then mostly the installed cuDNN or driver does not match what the program was built with.",),
            remedies=("Install the CUDA libraries that come with the framework, and remove others from the path.",),
            question="",
        )
    return replace(
        diagnosis,
        sure=Sure.CERTAIN,
        verdict=f"A CUDA library could not start on the GPU ({report.told.get('status', 'no memory')}): only "
        f"{format_bytes(free)} of {format_bytes(total)} were free.",
        why=diagnosis.why[:1],
    )


def _framework(seen: Seen, trained: bool) -> Framework | None:
    if seen.of_jax:
        return Framework.JAX
    if seen.of_pytorch:
        return Framework.PYTORCH
    return Framework.TENSORFLOW if trained else None


def _remedies(sign: Sign, found: Found, seen: Seen) -> tuple[str, ...]:
    remedies = told(sign.do_jax if seen.of_jax and sign.do_jax else sign.do, found)
    if seen.of_jax:
        return tuple(remedy for remedy in remedies if remedy != PIPELINE)
    if seen.of_pytorch:
        others = tuple(remedy for remedy in remedies if remedy not in OF_TENSORFLOW)
        return (*others, KERAS_ONLY) if sign.name in _ON_DEVICE else others
    return remedies


def _so_far(steps: int) -> tuple[str, ...]:
    return (f"Training had run {steps} step{'s' if steps != 1 else ''}.",) if steps else ()


def _free(report: Report) -> tuple[str, ...]:
    if report.cuda_free is None or not report.cuda_total:
        return ()
    return (f"CUDA reports {format_bytes(report.cuda_free)} free of {format_bytes(report.cuda_total)}.",)


def _device(report: Report, seen: Seen, kind: Kind) -> str:
    if kind in (Kind.HOST, Kind.KILLED):
        return "host"
    if gpu := report.told.get("gpu"):
        return f"GPU:{gpu}"
    return seen.devices[0].device if len(seen.devices) == 1 and kind.failed else ""


def _evidence(report: Report, seen: Seen, kind: Kind) -> tuple[Evidence, ...]:
    lines = list(report.evidence)
    if kind in (Kind.LIBRARIES, Kind.OTHER_PROCESS):
        lines += [*seen.notes.get("refused", ()), *seen.notes.get("smi_process", ())]
    return _sorted(tuple(lines))


def _sorted(lines: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    unique = {evidence.line: evidence for evidence in lines}
    return tuple(unique[number] for number in sorted(unique))
