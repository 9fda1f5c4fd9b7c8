"""The first ten minutes on a GPU that nobody has measured: small models through estimate and measurement.

result, calibrations = selftest(parse_place("gpu:0"), minutes=10, on_progress=show)
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from importlib import resources
from pathlib import Path

from planner_app import __version__
from planner_app.core.measure.calibration import Calibration
from planner_app.core.measure.measurement import Measurement, Order, Place
from planner_app.core.measure.sample import sample_of
from planner_app.core.measure.selftest import Check, SelfTest
from planner_app.core.model.setup import Jit, Setup
from planner_app.errors import Cancelled, PlannerError
from planner_app.jobs.protocol import Progress
from planner_app.planner.measuring.compare import compare_with_estimate, device_measured
from planner_app.planner.measuring.measure import measure
from planner_app.planner.opening import check_model
from planner_app.planner.tracer import OnProgress

# In the order of what they tell: the first ones are measured even if time is short. Batches keep each below 1 GiB.
MODELS = (
    ("dense", "weights and the optimizer", 256),
    ("convolutions", "convolutions, batch normalisation, pooling", 64),
    ("attention", "attention, embeddings, a large output", 32),
    ("groups", "programs that XLA compiles by themselves", 64),
    ("recurrent", "loops", 64),
)
MINUTES = 10.0


def selftest(
    place: Place,
    *,
    minutes: float = MINUTES,
    on_progress: OnProgress = None,
    cancelled: threading.Event | None = None,
) -> tuple[SelfTest, tuple[Calibration, ...]]:
    """Each model in processes of its own; what fails says why, and the next one is tried.

    Raises:
        PlannerError: Nothing at all could be measured.
    """
    began = time.monotonic()
    found: SelfTest | None = None
    calibrations: tuple[Calibration, ...] = ()
    checks: list[Check] = []
    left_out: list[str] = []
    slowest = 0.0
    for number, (name, about, batch) in enumerate(MODELS):
        started = time.monotonic()
        if checks and started - began + slowest > minutes * 60:
            left_out.append(name)
            continue
        if on_progress is not None:
            on_progress(Progress(done=number, of=len(MODELS), text=f"{name}: {about}"))
        try:
            check, measurement = _checked(name, about, batch, place, cancelled)
        except Cancelled:
            raise
        except PlannerError as error:
            checks.append(Check(name, about, batch, round(time.monotonic() - started, 1), problem=str(error)))
            continue
        slowest = max(slowest, time.monotonic() - started)
        checks.append(replace(check, seconds=round(time.monotonic() - started, 1)))
        found = found or _about(measurement)
        calibrations = _with(calibrations, check, measurement)
    if found is None:
        raise PlannerError(f"No model could be measured: {checks[0].problem if checks else 'there was no time'}")
    return replace(found, checks=tuple(checks), left_out=tuple(left_out)), calibrations


def _checked(
    name: str, about: str, batch: int, place: Place, cancelled: threading.Event | None
) -> tuple[Check, Measurement]:
    source = resources.files("planner_app.data").joinpath("selftest", f"{name}.json")
    with resources.as_file(source) as file:
        model = check_model(str(Path(file)))
        setup = Setup(batch=batch, jit=Jit.AUTO if place.on_gpu else Jit.OFF)
        order = Order.ORDINARY if place.on_gpu else Order.INLINE
        measurement = measure(model, setup, place, order=order, cancelled=cancelled)
        comparison = compare_with_estimate(model, measurement, cancelled=cancelled)
    return Check(name, about, batch, 0.0, comparison), measurement


def _about(measurement: Measurement) -> SelfTest:
    versions = measurement.versions
    return SelfTest(
        hardware=measurement.hardware,
        tensorflow=versions.tensorflow,
        keras=versions.keras,
        driver=versions.driver,
        plimsoll=__version__,
        started_at=measurement.measured_at,
    )


def _with(known: Iterable[Calibration], check: Check, measurement: Measurement) -> tuple[Calibration, ...]:
    """Steps compiled by XLA and others are calibrated apart."""
    if check.comparison is None:
        return tuple(known)
    sample, xla = sample_of(check.comparison, measurement), any(run.xla for run in measurement.runs)
    others = tuple(each for each in known if each.xla != xla)
    same = next((each for each in known if each.xla == xla), None)
    if same is not None:
        return (*others, same.with_sample(sample))
    versions, device = measurement.versions, device_measured(measurement).name
    return (*others, Calibration(device, versions.tensorflow, versions.keras, xla, (sample,), versions.driver))
