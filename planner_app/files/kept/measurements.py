"""Measurement files: written on a machine with GPUs, opened on another one."""

from pathlib import Path
from typing import Any

import msgspec

from planner_app.core.measure.leak import worst_leak
from planner_app.core.measure.measurement import Measurement
from planner_app.errors import PlannerError
from planner_app.files import writing
from planner_app.files.reading import read_at_most

FORMAT = "plimsoll measurement"
VERSION = 1
MAX_FILE_BYTES = 128 << 20  # a thousand steps of a thousand layers, in several processes


class _Head(msgspec.Struct):
    format: str = ""
    version: int = 0


class _File(msgspec.Struct):
    format: str
    version: int
    summary: dict[str, Any]
    measurement: Measurement


def write_measurement(path: Path, measurement: Measurement) -> None:
    """Written atomically: the file has either its old or its new content."""
    content = _File(FORMAT, VERSION, summary(measurement), measurement)
    try:
        writing.write_atomically(path, msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n")
    except OSError as error:
        raise PlannerError(f"The measurement can't be written to {str(path)!r}: {writing.reason(error)}.") from error


def check_writable(path: Path) -> None:
    """Check before minutes are spent on measuring."""
    folder = path.parent
    if path.is_dir() or not folder.is_dir():
        what = "it is a folder" if path.is_dir() else f"there is no folder {str(folder)!r}"
        raise PlannerError(f"The measurement can't be written to {str(path)!r}: {what}.")
    try:
        writing.check_writable(path)
    except OSError as error:
        raise PlannerError(f"The measurement can't be written to {str(path)!r}: {writing.reason(error)}.") from error


def read_measurement(path: Path) -> Measurement:
    try:
        data = read_at_most(path, MAX_FILE_BYTES)
    except OSError as error:
        raise PlannerError(f"The measurement {str(path)!r} can't be read: {writing.reason(error)}.") from error
    if len(data) > MAX_FILE_BYTES:
        raise PlannerError(f"{str(path)!r} is larger than {MAX_FILE_BYTES >> 20} MiB: that is not a measurement.")
    try:
        head = msgspec.json.decode(data, type=_Head)
        if head.format == FORMAT and head.version > VERSION:
            raise PlannerError(
                f"{str(path)!r} was written by a newer plimsoll (version {head.version} of the format, this one reads "
                f"{VERSION}): update plimsoll."
            )
        if head.format != FORMAT:
            raise PlannerError(f"{str(path)!r} is not a measurement: make one with plimsoll measure MODEL -o FILE.")
        return msgspec.json.decode(data, type=_File).measurement
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PlannerError(f"{str(path)!r} is not a measurement that can be read: {error}.") from error


def summary(measurement: Measurement) -> dict[str, Any]:
    """The main figures, without the individual steps."""
    setup, peaks = measurement.setup, measurement.peaks
    first = [memory for run in measurement.runs for step in run.steps[:1] for memory in step.memory]
    lives = [run.live_bytes for run in measurement.runs if run.live_bytes is not None]
    grows = worst_leak(measurement.runs)
    return {
        "batch": setup.batch,
        "per_gpu_batch": setup.per_gpu_batch,
        "precision": str(setup.precision),
        "optimizer": str(setup.optimizer),
        "gpus": setup.gpus,
        "accumulate": setup.accumulate,
        "jit": any(run.xla for run in measurement.runs),
        "on": str(measurement.place),
        "device": measurement.hardware,
        "order": str(measurement.order),
        "processes": len(measurement.runs),
        "limit_bytes": measurement.place.limit_bytes,
        "peak_bytes": {device: max(each) for device, each in peaks.items()},
        "lowest_peak_bytes": {device: min(measurement.step_peaks(device)) for device in peaks},
        "first_step_peak_bytes": {
            device: max(memory.peak_bytes for memory in first if memory.device == device)
            for device in dict.fromkeys(memory.device for memory in first)
        },
        "live_bytes": max(lives) if lives else None,
        "temp_bytes": max((run.temp_bytes for run in measurement.runs if run.temp_bytes is not None), default=None),
        "state_bytes": max((run.state_bytes for run in measurement.runs if run.state_bytes is not None), default=None),
        "oom": msgspec.to_builtins(measurement.oom),
        "seconds_per_step": _rounded(measurement.seconds_per_step),
        "samples_per_second": _rounded(measurement.samples_per_second),
        "joules_per_sample": _rounded(measurement.joules_per_sample),
        "leak_bytes_per_step": None if grows is None else round(grows.bytes_per_step),
        "leak": msgspec.to_builtins(grows),
        "model": measurement.model,
        "model_sha256": measurement.model_sha256,
        "measured_at": measurement.measured_at,
        "versions": msgspec.to_builtins(measurement.versions),
        "notes": list(dict.fromkeys(note for run in measurement.runs for note in run.notes)),
        "ended": measurement.ended,
        "host": measurement.host,
    }


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 6)
