"""The numbers of one report: exact where the dump has them, else as they were written."""

from dataclasses import dataclass
from math import prod

from planner_app.core.doctor.log.seen import Report, Seen

# DataTypeString of TensorFlow, and XLA's short names.
_ITEM_BYTES = {
    **dict.fromkeys("float int32 uint32 qint32 f32 s32 u32".split(), 4),
    **dict.fromkeys("half bfloat16 int16 uint16 qint16 f16 bf16 s16 u16".split(), 2),
    **dict.fromkeys("double int64 uint64 complex64 f64 s64 u64 c64".split(), 8),
    **dict.fromkeys("bool int8 uint8 qint8 quint8 float8_e5m2 float8_e4m3fn pred s8 u8".split(), 1),
    **dict.fromkeys("complex128 c128".split(), 16),
}
# A dump whose chunks add up to less than its own sum lost its beginning.
WHOLE_SHARE = 0.98
# 2.21 writes gigabytes with two decimals: a sum of such numbers is off by as much as this share.
HUMAN_SHARE = 100


@dataclass(frozen=True, slots=True)
class Figures:
    """Bytes; None is what the log does not tell.

    Attributes:
        available_bytes: What the allocator had not yet taken from the device and was allowed to.
        largest_bytes: The largest piece it could have given out: its largest hole, or what is available.
        fragmented: There was enough, but in no one piece.
        wanted_bytes: What the tensor's shape and type come to.
    """

    limit_bytes: int | None
    in_use_bytes: int | None
    free_bytes: int | None
    available_bytes: int | None
    largest_bytes: int | None
    fragmented: bool
    wanted_bytes: int | None
    reusable_bytes: int | None = None


def figures(report: Report, seen: Seen) -> Figures:
    limit = report.stats.get("Limit") or report.limit or _announced(report, seen)
    in_use = _in_use(report, limit)
    if limit is not None and in_use is not None and in_use > limit:  # cudaMallocAsync keeps to no limit of its own
        limit = report.cuda_total
    free = None if limit is None or in_use is None else max(limit - in_use, 0)
    whole = bool(report.used_sum) and report.used_sum >= WHOLE_SHARE * (_said(report) or 0)
    largest = max(report.largest_free, report.available or 0) if whole else None
    wanted = report.requested or _tensor_bytes(report)
    tolerance = 0 if whole else (free or 0) // HUMAN_SHARE
    fragmented = (
        wanted is not None
        and free is not None
        and report.sign != "async_failed"
        and wanted <= free - tolerance
        and (largest is None or wanted > largest)
    )
    return Figures(
        limit_bytes=limit,
        in_use_bytes=in_use,
        free_bytes=free,
        available_bytes=report.available,
        largest_bytes=largest,
        fragmented=fragmented,
        wanted_bytes=wanted,
        reusable_bytes=report.free_sum if whole else None,
    )


def _in_use(report: Report, limit: int | None) -> int | None:
    exact = report.used_sum or sum(size * count for size, count in report.by_size.items())
    said = _said(report)
    if exact and exact >= WHOLE_SHARE * (said or 0):
        return exact
    if said is None and report.occupancy and limit:
        return limit * (100 - report.occupancy.count("_")) // 100
    return said


def _said(report: Report) -> int | None:
    return report.stats.get("InUse", report.in_use)


def _announced(report: Report, seen: Seen) -> int | None:
    """The limit that TensorFlow told when it made the device."""
    found = [device.limit_bytes for device in seen.devices if device.device == report.device]
    if found:
        return found[-1]
    if len(seen.devices) == 1 and not report.device:
        return seen.devices[0].limit_bytes
    return seen.base_limit


def _tensor_bytes(report: Report) -> int | None:
    size = _ITEM_BYTES.get(report.dtype)
    return None if report.shape is None or size is None else prod(report.shape) * size
