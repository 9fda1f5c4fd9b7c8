"""Why an allocator's request failed: who held the memory, from the numbers in the log."""

from collections.abc import Callable
from typing import NamedTuple

from planner_app.core.doctor.diagnosis import Framework, Kind, Sure
from planner_app.core.doctor.figures import Figures
from planner_app.core.doctor.holding import others_bytes, total_bytes
from planner_app.core.doctor.log.seen import Report, Seen

# Keras prints a step's line when the step has ended, so one line is one step. A step that has run this often has seen
# its peak: what fails later is something that grew.
STEPS_THAT_SHOW_THE_PEAK = 3
FITS_THAT_PILE_UP = 3
MANY_KEPT = 8
# Where less of the limit lay free, in pieces, the step was near its end anyway: a shortage.
FREE_SHARE = 0.2
# Where less than this share of the limit would have stayed free behind the request, the next one would have failed.
SLACK_SHARE = 0.03
# Where this share lay free nothing is kept, however long the training ran.
MOSTLY_FREE = 0.5
# PyTorch always reserves a little more than it uses: a smaller idle share of the device explains nothing.
IDLE_SHARE = 0.03
# A device of which TensorFlow was given less than this share of what it should get is shared with somebody.
SHARED_BELOW = 0.8
# Other processes that hold more than this share of a device are worth naming as the cause.
OTHERS_SHARE = 0.25
# An allocator of a GPU that may take less than this was given what others left, or was limited by its user.
LITTLE_BYTES = 512 << 20
# Any GPU that trains has more than this: an allocator that gets nothing for less found it full.
SMALLEST_GPU_BYTES = 1 << 30
# No GPU on sale in 2026 has more.
LARGEST_GPU_BYTES = 432 << 30
HOST_ALLOCATORS = ("cpu", "mklcpu", "mkl_cpu", "cuda_host_bfc", "gpu_host_bfc", "cpu_bfc", "xla_cpu")

Capacity = Callable[[str], int | None]


class Cause(NamedTuple):
    kind: Kind
    sure: Sure = Sure.CERTAIN
    refused_by_driver: bool = False


def cause_of(report: Report, numbers: Figures, seen: Seen, capacity: Capacity | None) -> Cause:
    if report.allocator in HOST_ALLOCATORS:
        return Cause(Kind.HOST)
    if report.on_host and seen.refused and not seen.progress.steps:  # JAX asks the driver for 75 % at once
        return Cause(Kind.OTHER_PROCESS, Sure.LIKELY, refused_by_driver=True)
    if report.on_host and not seen.devices and report.allocator == "":
        return Cause(Kind.HOST, Sure.LIKELY)
    if report.sign == "crowded":
        return Cause(Kind.OTHER_PROCESS)
    if report.sign == "refused":  # another framework in the same process may hold it, too
        return Cause(Kind.OTHER_PROCESS, Sure.CERTAIN if seen.processes else Sure.LIKELY, refused_by_driver=True)
    if report.framework == Framework.PYTORCH:
        return _of_pytorch(report, seen)
    if report.sign == "hbm":
        return Cause(Kind.XLA)
    if (shared := _shared(report, numbers, seen, capacity)) is not None:
        return Cause(Kind.OTHER_PROCESS, shared)
    wanted = report.requested or numbers.wanted_bytes
    if wanted and wanted > LARGEST_GPU_BYTES:
        return Cause(Kind.TOO_LARGE)
    if numbers.limit_bytes and wanted and wanted > numbers.limit_bytes:
        return Cause(Kind.XLA if report.xla else Kind.COPIED_ARRAY if _whole_array(report) else Kind.TOO_LARGE)
    if report.nothing_taken and wanted and wanted < SMALLEST_GPU_BYTES:
        return Cause(Kind.OTHER_PROCESS, Sure.LIKELY, refused_by_driver=True)
    if _refused_by_driver(report, numbers, seen):
        much = (numbers.available_bytes or 0) > (
            numbers.limit_bytes or 0
        ) * OTHERS_SHARE or report.cuda_free is not None
        return Cause(Kind.OTHER_PROCESS, Sure.CERTAIN if much else Sure.LIKELY, refused_by_driver=True)
    if _whole_array(report):
        return Cause(Kind.COPIED_ARRAY)
    free_share = _free_share(numbers, wanted) if numbers.fragmented else 0.0
    if _grew(report) and free_share < MOSTLY_FREE:
        return Cause(Kind.LEAK, Sure.LIKELY)
    if free_share >= FREE_SHARE:
        return Cause(Kind.FRAGMENTED)
    if kept_alike(report):
        return Cause(Kind.SHORTAGE, Sure.LIKELY)
    return Cause(Kind.XLA if report.xla else Kind.SHORTAGE)


def _free_share(numbers: Figures, wanted: int | None) -> float:
    """Of the limit; none where the request would have taken nearly all that was free."""
    free, limit = numbers.free_bytes or 0, numbers.limit_bytes or 0
    return free / limit if limit and free - (wanted or 0) >= SLACK_SHARE * limit else 0.0


def kept_alike(report: Report) -> int:
    """How many chunks of the requested size are in use, where they are most of it and no graph explains them."""
    size = report.requested or 0
    count = report.by_size[size] if report.eager else 0
    return count if count >= MANY_KEPT and count * size > (report.in_use or 0) * MOSTLY_FREE else 0


def _of_pytorch(report: Report, seen: Seen) -> Cause:
    wanted, total, free = report.requested or 0, report.cuda_total or 0, report.cuda_free or 0
    if total and wanted > total:
        return Cause(Kind.TOO_LARGE)
    others = others_bytes(report, seen) or 0
    if total and others > total * OTHERS_SHARE and free < wanted <= free + others:
        return Cause(Kind.OTHER_PROCESS, Sure.CERTAIN if seen.processes else Sure.LIKELY)
    if report.idle_bytes and 0 < wanted <= report.idle_bytes and report.idle_bytes >= total * IDLE_SHARE:
        return Cause(Kind.FRAGMENTED, Sure.LIKELY)
    return Cause(Kind.SHORTAGE)


def _whole_array(report: Report) -> bool:
    """Eager constants are arrays of the user's; fit() of 2.2 to 2.4 gathered batches from a copy on the GPU."""
    wanted = report.copied_for or (report.operation if report.eager or report.copied else "")
    return wanted in ("_EagerConst", "GatherV2", "StridedSlice", "TensorSliceDataset") or (
        report.operation == "_EagerConst"
    )


def _refused_by_driver(report: Report, numbers: Figures, seen: Seen) -> bool:
    """The allocator was allowed to take what was asked for, and the device did not have it."""
    if report.cuda_free is not None and report.cuda_total:
        others = others_bytes(report, seen) or 0
        return others > report.cuda_total * OTHERS_SHARE and (report.requested or 0) <= report.cuda_total
    if report.refused and report.sign == "ran_out" and numbers.available_bytes is None:
        return True
    return bool(report.requested and numbers.available_bytes and report.requested <= numbers.available_bytes)


def _shared(report: Report, numbers: Figures, seen: Seen, capacity: Capacity | None) -> Sure | None:
    """TensorFlow was given far less of the device than of an idle one of its kind; how sure that others held it."""
    if report.device.startswith("CPU"):
        return None
    if seen.free_at_start and seen.free_at_start[1] < seen.free_at_start[0] * (SHARED_BELOW - 0.1):
        return Sure.CERTAIN
    for device in seen.devices:
        if device.device in (report.device, "") or len(seen.devices) == 1:
            expected = (capacity(device.name) if capacity else None) or total_bytes(report, seen)
            shared = device.limit_bytes < (LITTLE_BYTES if expected is None else expected * SHARED_BELOW)
            return Sure.LIKELY if shared else None
    limit = numbers.limit_bytes
    on_gpu = report.device.startswith("GPU") and not report.allocator.startswith("gpu_async")
    return Sure.LIKELY if on_gpu and limit is not None and 0 < limit < LITTLE_BYTES else None


def _grew(report: Report) -> bool:
    progress = report.progress
    if progress is None:
        return False
    if progress.fits >= FITS_THAT_PILE_UP:
        return True
    # At the end of an epoch validation starts, with a peak of its own: not growth, unless it went well before.
    validates = bool(report.during) or (bool(progress.of) and progress.step >= progress.of)
    return progress.steps >= STEPS_THAT_SHOW_THE_PEAK and not (validates and progress.epoch <= 1)
