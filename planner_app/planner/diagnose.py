"""A log read with the model that was trained at hand, and the estimate at the setup of the log beside it."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from io import BufferedReader
from pathlib import Path

from planner_app.core.advise import Advice
from planner_app.core.doctor import Diagnosis, Framework, Kind
from planner_app.core.doctor.comparison import Comparison, batch_of, compare
from planner_app.core.estimate.estimate import estimate
from planner_app.core.hardware.device import Device, cpu_device, custom_device
from planner_app.core.model.description import ModelDescription
from planner_app.core.model.setup import Backend, Jit, Precision, Setup
from planner_app.errors import Cancelled, DeviceError, PlannerError
from planner_app.files.devices.catalogue import catalogue
from planner_app.files.logs import diagnosed_stream
from planner_app.files.logs.opening import OfPieces
from planner_app.files.reading import opened
from planner_app.jobs.protocol import Progress
from planner_app.planner.advise import advice_request
from planner_app.planner.planner import Planner

MEGABYTE = 1_000_000
# Failures that another setup avoids; others need another machine, or other code.
CURED_BY_CHANGES = (Kind.SHORTAGE, Kind.XLA, Kind.TOO_LARGE, Kind.FRAGMENTED)


def diagnose_file(
    path: str,
    layers: tuple[str, ...] = (),
    *,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: threading.Event | None = None,
) -> Diagnosis:
    """A log of any length: how far it has been read is told in megabytes, and it can be cancelled.

    Args:
        layers: Paths of the model's layers, if it is known.
    """
    try:
        if not isinstance(log := opened(path), BufferedReader):  # a pipe, say
            return diagnosed_stream(OfPieces(log), layers, name=Path(path).name)
        with log:
            watched = _Watched(log, os.fstat(log.fileno()).st_size, on_progress, cancelled)
            return diagnosed_stream(watched, layers, name=Path(path).name)
    except OSError as error:
        raise PlannerError(f"The log {path!r} can't be read: {error.strerror or error}.") from error


class _Watched(BufferedReader):
    """A file that tells how far it has been read, and can be cancelled."""

    def __init__(
        self,
        log: BufferedReader,
        of: int,
        on_progress: Callable[[Progress], None] | None,
        cancelled: threading.Event | None,
    ) -> None:
        super().__init__(log.raw)
        self._of, self._on_progress, self._cancelled, self._done = of, on_progress, cancelled, 0

    def read(self, size: int | None = -1, /) -> bytes:
        if self._cancelled is not None and self._cancelled.is_set():
            raise Cancelled
        piece = super().read(size)
        before, self._done = self._done, self._done + len(piece)
        if self._on_progress is not None and self._done // MEGABYTE > before // MEGABYTE:
            megabytes = self._done // MEGABYTE
            text = f"reading the log: {megabytes} MB"
            self._on_progress(Progress(done=megabytes, of=self._of // MEGABYTE, text=text))
        return piece


def beside_model(
    found: Diagnosis,
    planner: Planner,
    description: ModelDescription,
    setup: Setup,
    *,
    batch_known: bool = True,
    device: Device | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: threading.Event | None = None,
) -> Comparison | None:
    """None where the log holds no failure of a device's memory.

    Args:
        setup: As the training was set up.
        batch_known: Its batch is that of the training; otherwise the failed tensor's shape is asked for it.
        device: Where it was; without one, what the log tells.
    """
    if not found.kind.on_device or found.framework == Framework.PYTORCH:
        return None
    told = not batch_known and (batch_of(found, description) or found.batch) is not None
    setup = as_trained(setup, found, description, batch_known=batch_known)
    try:
        where = device or device_in_log(found)
    except DeviceError as error:  # nothing to compare with, but the diagnosis stands
        return Comparison((str(error),))
    need = planner.need(setup, where, on_progress=on_progress, cancelled=cancelled)
    estimated = estimate(need, setup) if batch_known or told else None
    planner.tracer.keep()
    return compare(found, need, estimated, batch_from_log=told)


def advice_beside(
    found: Diagnosis,
    compared: Comparison | None,
    planner: Planner,
    description: ModelDescription,
    setup: Setup,
    *,
    device: Device | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_part: Callable[[Advice], None] | None = None,
    cancelled: threading.Event | None = None,
) -> Advice | None:
    """What each change would make of that training, in the memory it had; None where the estimate fits anyway.

    Args:
        setup: As `as_trained` gives it.
    """
    if compared is None or not compared.agrees or found.kind not in CURED_BY_CHANGES:
        return None
    where = device or device_in_log(found)
    others = catalogue().devices if where.cuda else ()
    request = advice_request(setup, where, description, others, found.limit_bytes)
    return planner.advise(request, on_progress=on_progress, on_part=on_part, cancelled=cancelled)


def as_trained(setup: Setup, found: Diagnosis, description: ModelDescription, *, batch_known: bool) -> Setup:
    """The setup of the log: what the user said, and what the log tells of the rest."""
    return as_in_log(setup if batch_known else filled_in(setup, found, description), found)


def as_in_log(setup: Setup, found: Diagnosis) -> Setup:
    """A program of XLA's has no operations that fail one by one: a log that names one ran without XLA."""
    if setup.jit is not Jit.AUTO or setup.backend is Backend.JAX:
        return setup
    if found.kind is Kind.XLA:
        return replace(setup, jit=Jit.ON)
    return replace(setup, jit=Jit.OFF) if found.operation else setup


def filled_in(setup: Setup, found: Diagnosis, description: ModelDescription) -> Setup:
    """A setup with what the log tells of it: the batch, off the failed tensor's shape or named, precision, and XLA."""
    told = batch_of(found, description)
    if told is not None:
        setup = setup.with_batch(told * setup.shares)
    elif found.batch is not None and found.batch >= setup.shares:
        setup = setup.with_batch(found.batch)
    if found.precision in list(Precision):
        setup = replace(setup, precision=Precision(found.precision))
    jit = as_in_log(replace(setup, jit=Jit.AUTO), found).jit
    return setup if jit is Jit.AUTO else replace(setup, jit=jit)


def device_in_log(found: Diagnosis) -> Device:
    if found.device.startswith("CPU"):
        return cpu_device(found.limit_bytes)
    try:
        return catalogue().find(found.device_name)
    except DeviceError:
        if not found.limit_bytes:
            raise DeviceError(
                "The log does not tell on which GPU it was written: name it, as in --device 'NVIDIA L4'."
            ) from None
        return custom_device(found.device_name or found.device or "GPU", found.limit_bytes)
