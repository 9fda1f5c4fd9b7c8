"""A log beside the estimate of the same training: do they agree, and if not, what else holds memory?"""

from collections import Counter
from dataclasses import dataclass, replace

from planner_app.core.doctor.diagnosis import Diagnosis, Kind
from planner_app.core.estimate.estimate import Estimate
from planner_app.core.estimate.need import Need
from planner_app.core.estimate.verdict import Verdict, judge
from planner_app.core.model.description import ModelDescription
from planner_app.units import format_bytes


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the estimate says at the setup of the log.

    Attributes:
        said: Sentences.
        per_gpu_batch: The batch that was estimated; `batch_from_log` if it was read off the failed tensor's shape.
        limit_bytes: The limit of the log, or where it tells none what the device has for the training; `limit_in_log`
            tells which.
        largest_batch: The largest per-GPU batch that fits it; None without a limit.
        agrees: The estimate does not fit either; None where there is no limit, or no batch, to say.
    """

    said: tuple[str, ...]
    per_gpu_batch: int | None = None
    batch_from_log: bool = False
    peak_bytes: int | None = None
    low_bytes: int | None = None
    high_bytes: int | None = None
    limit_bytes: int | None = None
    limit_in_log: bool = True
    largest_batch: int | None = None
    agrees: bool | None = None


def batch_of(diagnosis: Diagnosis, description: ModelDescription) -> int | None:
    """The batch on one GPU, where the failed tensor is the output of its layer, or the gradient of that.

    On a GPU channels may have been moved to the front, so sizes are compared in any order.
    """
    shape = diagnosis.shape
    if not shape or not diagnosis.layer:
        return None
    for layer in description.layers:
        if layer.path != diagnosis.layer:
            continue
        for output in layer.output_shapes:
            known = Counter(size for size in output if isinstance(size, int))
            left = Counter(shape)
            left.subtract(known)
            rest = [size for size, count in left.items() if count > 0 for _ in range(count)]
            if len(shape) == len(output) and len(rest) == 1 and min(left.values()) >= 0:
                return rest[0]
    return None


def compare(
    diagnosis: Diagnosis, need: Need, estimated: Estimate | None, *, batch_from_log: bool = False
) -> Comparison:
    """`estimated` is None where the batch is not known: then only what would fit is said."""
    in_log = diagnosis.limit_bytes is not None
    limit = diagnosis.limit_bytes if in_log else need.capacity_bytes
    room = "" if limit is None else f"{format_bytes(limit)} of {'the log' if in_log else need.device.name}"
    solved = replace(need, limit_bytes=limit).largest(sure=True) if limit else None
    largest = None if solved is None else solved.batch
    said: list[str] = []
    if estimated is not None:
        said += _at_the_setup(diagnosis, estimated, limit, room, batch_from_log)
    if largest is not None and limit:
        said.append(
            f"The largest batch on each GPU that fits {format_bytes(limit)}, its whole band included, is {largest:,}."
            if largest
            else f"Not even one sample is sure to fit {format_bytes(limit)}."
        )
    if estimated is None:
        return Comparison(tuple(said), limit_bytes=limit, limit_in_log=in_log, largest_batch=largest)
    return Comparison(
        said=tuple(said),
        per_gpu_batch=estimated.setup.per_gpu_batch,
        batch_from_log=batch_from_log,
        peak_bytes=estimated.peak_bytes,
        low_bytes=estimated.low_bytes,
        high_bytes=estimated.high_bytes,
        limit_bytes=limit,
        limit_in_log=in_log,
        largest_batch=largest,
        agrees=None if limit is None else judge(estimated.level, limit) is not Verdict.FITS,
    )


def _at_the_setup(diagnosis: Diagnosis, estimated: Estimate, limit: int | None, room: str, from_log: bool) -> list[str]:
    batch = estimated.setup.per_gpu_batch
    source = ", which the log tells," if from_log else ""
    band = f"{format_bytes(estimated.low_bytes)} to {format_bytes(estimated.high_bytes)}"
    said = [f"At batch {batch:,} on each GPU{source} the estimate is {format_bytes(estimated.peak_bytes)} ({band})."]
    if limit is None:
        return said
    verdict = judge(estimated.level, limit)
    if verdict is Verdict.DOES_NOT_FIT:
        said.append(f"That is more than the {room}: the step itself does not fit, as the log shows.")
    elif verdict is Verdict.TIGHT:
        said.append(f"The band reaches beyond the {room}: tight, it depends on the order of kernels.")
    elif diagnosis.kind is Kind.FRAGMENTED:
        said.append(f"That fits into the {room}: the memory was there, in pieces.")
    else:
        held = diagnosis.in_use_bytes
        beyond = f" {format_bytes(held)} were in use:" if held and held > estimated.peak_bytes else ""
        said.append(
            f"That fits into the {room}:{beyond} something beside this step held memory, or the training "
            "was another one than was described here."
        )
    if estimated.peak_layer and verdict is Verdict.DOES_NOT_FIT:
        said.append(f"The estimate's own peak is in the {estimated.peak_phase} pass of {estimated.peak_layer}.")
    return said
