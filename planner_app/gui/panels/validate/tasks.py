"""What the validate panel can have done, each as the work of a `Task`: parts of the result are told as they come."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner_app.core.hardware.device import Device, cpu_device
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.measure.compare import Comparison
from planner_app.core.measure.measurement import Measurement, Place
from planner_app.core.measure.search import Found
from planner_app.core.model.description import CheckedModel
from planner_app.core.model.setup import Setup
from planner_app.core.replay.limited import largest_through
from planner_app.errors import Cancelled, DeviceError
from planner_app.files.devices.catalogue import find_device
from planner_app.gpu.nvml import machine_gpus
from planner_app.gui.background.task import Task
from planner_app.gui.panels.validate.values import Measured, Wanted
from planner_app.planner.compare import compare_with_estimate
from planner_app.planner.compile import Compiler
from planner_app.planner.measure import measure
from planner_app.planner.search import search
from planner_app.planner.tracer import Tracer

Work = Callable[[Task], Found | None]


@dataclass(frozen=True, slots=True)
class Subject:
    """The model, and its traces as far as they are made."""

    model: CheckedModel
    tracer: Tracer


def measuring(subject: Subject, wanted: Wanted, setups: Sequence[Setup]) -> Work:
    place = wanted.resolved_place()

    def work(task: Task) -> None:
        for setup in setups:
            found = measure(
                subject.model,
                setup,
                place,
                order=wanted.order(setup),
                processes=wanted.processes,
                on_progress=task.tell,
                cancelled=task.cancelled,
            )
            task.hand_over(Measured(found, _compared(subject, found, task)))
            if task.cancelled.is_set():
                raise Cancelled("Cancelled.")

    return work


def searching(subject: Subject, wanted: Wanted, setup: Setup) -> Work:
    place = wanted.resolved_place()
    if not place.on_gpu and place.limit_bytes is None:
        raise DeviceError("The CPU has no limit of its own: fill in a limit, as in 8GiB.")

    def work(task: Task) -> Found:
        device = _device(place)  # asks the driver, which may take its time
        limit = place.limit_bytes or allocator_limit_bytes(device) or 0
        memory = subject.tracer.memory(setup.step(device.target), task.tell)
        guess = max(1, largest_through(memory, limit))
        return search(
            subject.model,
            setup,
            place,
            guess,
            order=wanted.order(setup),
            processes=wanted.processes,
            on_try=task.hand_over,
            on_progress=task.tell,
            cancelled=task.cancelled,
        )

    return work


def compiling(subject: Subject, setup: Setup, device: Device) -> Work:
    def work(task: Task) -> None:
        with Compiler(subject.model, cancelled=task.cancelled) as compiler:
            task.hand_over(compiler.check(setup, device, task.tell))

    return work


def comparing(subject: Subject, measurement: Measurement) -> Work:
    """One that was measured elsewhere."""

    def work(task: Task) -> None:
        task.hand_over(Measured(measurement, _compared(subject, measurement, task)))

    return work


def _compared(subject: Subject, found: Measurement, task: Task) -> Comparison | None:
    """None where memory ran out before a step was over."""
    if not found.peaks:
        return None
    return compare_with_estimate(
        subject.model, found, tracer=subject.tracer, on_progress=task.tell, cancelled=task.cancelled
    )


def _device(place: Place) -> Device:
    if not place.on_gpu:
        return cpu_device(place.limit_bytes)
    machine = machine_gpus()
    if place.gpus[0] >= len(machine.gpus):
        raise DeviceError(machine.sentence or f"There is no GPU {place.gpus[0]} in this machine.")
    return find_device(machine.gpus[place.gpus[0]].name or "")
