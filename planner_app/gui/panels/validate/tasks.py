"""The validate panel's tasks. Each reports parts of its result as they arrive."""

from collections.abc import Callable, Sequence

from planner_app.core.estimate.limited import largest_through
from planner_app.core.hardware.device import Device, cpu_device
from planner_app.core.hardware.runtime import allocator_limit_bytes
from planner_app.core.measure.compare import Comparison
from planner_app.core.measure.measurement import Measurement, Place
from planner_app.core.measure.search import Found
from planner_app.core.model.setup import Setup
from planner_app.errors import Cancelled, DeviceError
from planner_app.files.devices.catalogue import find_device
from planner_app.gpu.nvml import machine_gpus
from planner_app.gui.background.task import Task
from planner_app.gui.panels.validate.values import Measured, Wanted
from planner_app.planner.compile import Compiler
from planner_app.planner.measuring.compare import compare_with_estimate
from planner_app.planner.measuring.measure import measure
from planner_app.planner.measuring.search import search
from planner_app.planner.planner import Planner

Work = Callable[[Task], Found | None]


def measuring(planner: Planner, wanted: Wanted, setups: Sequence[Setup]) -> Work:
    place = wanted.resolved_place()

    def work(task: Task) -> None:
        for setup in setups:
            found = measure(
                planner.model,
                setup,
                place,
                order=wanted.order(setup),
                processes=wanted.processes,
                on_progress=task.report,
                cancelled=task.cancelled,
            )
            task.publish(Measured(found, _compared(planner, found, task)))
            if task.cancelled.is_set():
                raise Cancelled

    return work


def searching(planner: Planner, wanted: Wanted, setup: Setup) -> Work:
    place = wanted.resolved_place()
    if not place.on_gpu and place.limit_bytes is None:
        raise DeviceError("The CPU has no memory limit of its own: enter one, as in 8GiB.")

    def work(task: Task) -> Found:
        device = _device(place)  # asks the driver, which may be slow
        limit = place.limit_bytes or allocator_limit_bytes(device) or 0
        memory = planner.need(setup, device, on_progress=task.report, cancelled=task.cancelled).memory
        guess = max(1, largest_through(memory, limit))
        return search(
            planner.model,
            setup,
            place,
            guess,
            order=wanted.order(setup),
            processes=wanted.processes,
            on_try=task.publish,
            on_progress=task.report,
            cancelled=task.cancelled,
        )

    return work


def compiling(planner: Planner, setup: Setup, device: Device) -> Work:
    def work(task: Task) -> None:
        with Compiler(planner.model, cancelled=task.cancelled) as compiler:
            task.publish(compiler.check(setup, device, task.report))

    return work


def comparing(planner: Planner, measurement: Measurement) -> Work:
    """A measurement made elsewhere."""

    def work(task: Task) -> None:
        task.publish(Measured(measurement, _compared(planner, measurement, task)))

    return work


def _compared(planner: Planner, found: Measurement, task: Task) -> Comparison | None:
    """None if memory ran out before a step finished."""
    if not found.peaks:
        return None
    return compare_with_estimate(
        planner.model, found, tracer=planner.tracer, on_progress=task.report, cancelled=task.cancelled
    )


def _device(place: Place) -> Device:
    if not place.on_gpu:
        return cpu_device(place.limit_bytes)
    machine = machine_gpus()
    if place.gpus[0] >= len(machine.gpus):
        raise DeviceError(machine.sentence or f"This machine has no GPU {place.gpus[0]}.")
    return find_device(machine.gpus[place.gpus[0]].name or "")
