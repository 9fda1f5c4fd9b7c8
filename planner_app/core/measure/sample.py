"""Turns a measurement into a sample for the device's calibration."""

from planner_app.core.measure.calibration import Sample
from planner_app.core.measure.compare import Comparison
from planner_app.core.measure.measurement import Measurement, Order
from planner_app.core.model.setup import Backend


def sample_of(comparison: Comparison, measurement: Measurement) -> Sample:
    """A limit that the user set says nothing about the device, so it is left out."""
    setup = measurement.setup
    parts = [f"batch {setup.batch}", str(setup.precision), str(setup.optimizer)]
    mesh = f" (mesh {setup.mesh}, layout {setup.layout})" if setup.backend is Backend.JAX else ""
    parts += [f"{setup.gpus} GPUs{mesh}"] * (setup.gpus > 1)
    parts += [f"accumulate {setup.accumulate}"] * (setup.accumulate > 1)
    limits = [run.limit_bytes for run in measurement.runs if run.limit_bytes is not None]
    limit = min(limits, default=None)
    used = [gpu.process_bytes for step in measurement.steady for gpu in step.gpus if gpu.process_bytes is not None]
    outside = None if limit is None or not used else max(used) - limit
    return Sample(
        model=measurement.model,
        model_sha256=measurement.model_sha256,
        setup=", ".join(parts),
        measured_at=measurement.measured_at,
        estimated_bytes=comparison.estimated_bytes,
        measured_bytes=comparison.measured_bytes,
        outside_bytes=outside if outside is not None and outside > 0 else None,
        limit_bytes=limit if measurement.place.on_gpu and measurement.place.limit_bytes is None else None,
    )


def why_not_calibrating(measurement: Measurement) -> str:
    """Why a measurement can't calibrate estimates; "" if it can."""
    if measurement.place.on_gpu:
        return ""
    if measurement.setup.backend is Backend.JAX:
        return "XLA's program for the CPU says nothing about GPUs, whose program is another one: measure on a GPU."
    if measurement.order is not Order.INLINE:
        return (
            "Kernels ran on a thread pool, which says nothing about GPUs, where they run one by one: measure with "
            "--inline."
        )
    return ""
