"""A measurement, perhaps brought from another machine, and the estimate of the same point."""

import threading
from contextlib import suppress

from planner_app.core.hardware.device import Device, Segment, cpu_device
from planner_app.core.measure.calibration import Calibration
from planner_app.core.measure.compare import Comparison, compare
from planner_app.core.measure.measurement import Measurement
from planner_app.core.measure.sample import sample_of
from planner_app.core.model.description import CheckedModel
from planner_app.errors import Cancelled, DeviceError, ModelError, PlannerError
from planner_app.files.devices.catalogue import find_device
from planner_app.files.kept.calibrations import Calibrations
from planner_app.planner.tracer import OnProgress, Tracer


def device_measured(measurement: Measurement) -> Device:
    """The kind of device: of several GPUs the first, which the others are like."""
    if not measurement.place.on_gpu:
        return cpu_device(measurement.place.limit_bytes)
    name = measurement.hardware.partition(" + ")[0]
    with suppress(DeviceError):
        return find_device(name)
    return Device(name=name, segment=Segment.CUSTOM)


def compare_with_estimate(
    model: CheckedModel,
    measurement: Measurement,
    *,
    tracer: Tracer | None = None,
    on_progress: OnProgress = None,
    cancelled: threading.Event | None = None,
) -> Comparison:
    """Term by term and layer by layer. The model must be the one that was measured."""
    if measurement.model_sha256 and model.sha256 and measurement.model_sha256 != model.sha256:
        raise ModelError(
            f"{model.name!r} is not the file that was measured ({measurement.model!r}, sha256 "
            f"{measurement.model_sha256[:12]}...): name the same model."
        )
    tracer = tracer or Tracer(model)
    setup = measurement.setup
    memory = tracer.memory(setup.step(device_measured(measurement).target), on_progress)
    if cancelled is not None and cancelled.is_set():
        raise Cancelled
    found = compare(memory, measurement)
    tracer.keep()
    if found is None:
        raise PlannerError("Memory ran out before a step was over: there is no peak to hold an estimate against.")
    return found


def calibrate_with(store: Calibrations, measurement: Measurement, comparison: Comparison) -> Calibration:
    """Add a measurement to the calibration of its device."""
    return store.add(
        sample_of(comparison, measurement),
        device=device_measured(measurement).name,
        tensorflow=measurement.versions.tensorflow,
        keras=measurement.versions.keras,
        driver=measurement.versions.driver,
        xla=any(run.xla for run in measurement.runs),
        jax=measurement.versions.jax,
    )
