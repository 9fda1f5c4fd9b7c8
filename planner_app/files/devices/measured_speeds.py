"""Speeds from measurements, which `shop` uses instead of estimates."""

from collections.abc import Iterable
from pathlib import Path

from planner_app.core.hardware.catalogue import Catalogue
from planner_app.core.hardware.shop import Measured
from planner_app.core.model.description import CheckedModel
from planner_app.errors import DeviceError, ModelError
from planner_app.files.kept.measurements import read_measurement


def measured_speeds(paths: Iterable[Path], model: CheckedModel, catalogue: Catalogue) -> Measured:
    """Seconds per update by device and setup. Each measurement must be of this model, on GPUs of one kind."""
    found = {}
    for path in paths:
        taken = read_measurement(path)
        if model.sha256 and taken.model_sha256 and taken.model_sha256 != model.sha256:
            raise ModelError(
                f"{path} is a measurement of another model, {taken.model!r}: measure {model.name!r} itself."
            )
        names = set(taken.hardware.split(" + "))
        if not taken.place.on_gpu or len(names) != 1:
            raise DeviceError(f"{path} was measured on {taken.hardware}: measure on GPUs of one kind.")
        seconds = taken.seconds_per_step
        if seconds is not None and not taken.fits:
            found[catalogue.find(names.pop()).name, taken.setup] = seconds * taken.setup.accumulate
    return found
