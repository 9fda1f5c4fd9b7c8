"""What a node is asked to do. Runs on the node, in one of Ray's processes, found by name: see `fleet.task`."""

import platform
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from planner_app import __version__
from planner_app.core.compile.check import CompileCheck
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.machine import Machine
from planner_app.core.measure.calibration import Calibration
from planner_app.core.measure.measurement import Measurement, Order, Place
from planner_app.core.measure.selftest import SelfTest
from planner_app.core.model.setup import Setup, StepSetup
from planner_app.core.model.trace import StepTrace
from planner_app.errors import DeviceError, WorkerError
from planner_app.gpu.nvml import machine_gpus
from planner_app.jobs.protocol import Progress
from planner_app.jobs.versions import figures_depend_on, worker_versions
from planner_app.jobs.warm import WarmWorker
from planner_app.planner.compile import Compiler
from planner_app.planner.fleet.shipping import Shipped, unpacked
from planner_app.planner.measuring import selftest as testing
from planner_app.planner.measuring.measure import measure as measure_here
from planner_app.planner.tracer import Tracer

Tell = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class MeasureThere:
    """Attributes:
    plimsoll: The version that asks: results of another one would not be comparable.
    """

    plimsoll: str
    shipped: Shipped
    setup: Setup
    limit_bytes: int | None
    order: Order
    steps: int | None = None
    fits: int = 0
    processes: int = 1


@dataclass(frozen=True, slots=True)
class TestThere:
    plimsoll: str
    minutes: float
    limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TraceThere:
    """Attributes:
    setups: Alike: one worker traces them all.
    versions: Of the machine that asks: a trace of others would be of another graph.
    """

    plimsoll: str
    shipped: Shipped
    setups: tuple[StepSetup, ...]
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class TracedThere:
    traces: tuple[StepTrace, ...]


@dataclass(frozen=True, slots=True)
class CompileThere:
    plimsoll: str
    shipped: Shipped
    setup: Setup
    device: Device


@dataclass(frozen=True, slots=True)
class Tested:
    result: SelfTest
    calibrations: tuple[Calibration, ...]


@dataclass(frozen=True, slots=True)
class About:
    """What a node tells of itself.

    Attributes:
        memory_bytes: Of each GPU.
        problem: Of its driver or GPUs; "" for none.
    """

    host: str
    plimsoll: str
    tensorflow: str
    keras: str
    python: str
    driver: str | None
    gpus: tuple[str, ...]
    memory_bytes: tuple[int | None, ...]
    problem: str


def about(_request: bytes, _gpus: tuple[str, ...], _tell: Tell, _cancelled: threading.Event) -> About:
    machine, versions = machine_gpus(), figures_depend_on()
    return About(
        host=platform.node(),
        plimsoll=__version__,
        tensorflow=versions["tensorflow"],
        keras=versions["keras"],
        python=platform.python_version(),
        driver=machine.driver_version,
        gpus=tuple(gpu.name or f"GPU {gpu.index}" for gpu in machine.gpus),
        memory_bytes=tuple(gpu.total_bytes for gpu in machine.gpus),
        problem=" ".join(gpu.sentence for gpu in machine.gpus if gpu.sentence),
    )


def measure(request: bytes, gpus: tuple[str, ...], tell: Tell, cancelled: threading.Event) -> Measurement:
    asked = msgspec.json.decode(request, type=MeasureThere)
    _check_version(asked.plimsoll)
    machine = machine_gpus()
    with unpacked(asked.shipped) as model:
        found = measure_here(
            model,
            asked.setup,
            Place(_numbers(gpus, machine), asked.limit_bytes),
            order=asked.order,
            steps=asked.steps,
            fits=asked.fits,
            processes=asked.processes,
            on_progress=tell,
            cancelled=cancelled,
            machine=machine,
        )
    return replace(found, host=platform.node())


def selftest(request: bytes, gpus: tuple[str, ...], tell: Tell, cancelled: threading.Event) -> Tested:
    asked = msgspec.json.decode(request, type=TestThere)
    _check_version(asked.plimsoll)
    place = Place(_numbers(gpus, machine_gpus()), asked.limit_bytes)
    return Tested(*testing.selftest(place, minutes=asked.minutes, on_progress=tell, cancelled=cancelled))


def trace(request: bytes, _gpus: tuple[str, ...], tell: Tell, cancelled: threading.Event) -> TracedThere:
    asked = msgspec.json.decode(request, type=TraceThere)
    _check_version(asked.plimsoll)
    ours = worker_versions()
    for package, theirs in asked.versions.items():
        if ours.get(package) != theirs:
            raise WorkerError(
                f"{platform.node()} has {package} {ours.get(package) or 'not'} and was asked for a trace of {theirs}: "
                "install the same version on both."
            )
    with unpacked(asked.shipped) as model, WarmWorker() as worker:
        tracer = Tracer(model)
        return TracedThere(tuple(tracer.trace(setup, worker, tell, cancelled).trace for setup in asked.setups))


def compile_check(request: bytes, _gpus: tuple[str, ...], tell: Tell, cancelled: threading.Event) -> CompileCheck:
    asked = msgspec.json.decode(request, type=CompileThere)
    _check_version(asked.plimsoll)
    with unpacked(asked.shipped) as model, Compiler(model, cancelled=cancelled) as compiler:
        return compiler.check(asked.setup, asked.device, tell)


def _check_version(theirs: str) -> None:
    if theirs != __version__:
        raise WorkerError(
            f"{platform.node()} has plimsoll {__version__} and was asked by {theirs}: install the same version on both."
        )


def _numbers(given: tuple[str, ...], machine: Machine) -> tuple[int, ...]:
    """The driver's numbers of the GPUs that Ray has given us: it names them by number or by UUID."""
    by_uuid = {gpu.uuid: gpu.index for gpu in machine.gpus}
    for name in given:
        if not name.isdecimal() and name not in by_uuid:
            raise DeviceError(
                f"Ray has given out the GPU {name!r}, which the driver of {platform.node()} doesn't list."
            )
    return tuple(int(name) if name.isdecimal() else by_uuid[name] for name in given)
