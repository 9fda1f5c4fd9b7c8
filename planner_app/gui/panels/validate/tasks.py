"""What the validate panel can have done, each as the work of a `Task`: parts of the result are told as they come."""

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
                on_progress=task.tell,
                cancelled=task.cancelled,
            )
            task.hand_over(Measured(found, _compared(planner, found, task)))
            if task.cancelled.is_set():
                raise Cancelled

    return work


def searching(planner: Planner, wanted: Wanted, setup: Setup) -> Work:
    place = wanted.resolved_place()
    if not place.on_gpu and place.limit_bytes is None:
        raise DeviceError("The CPU has no limit of its own: fill in a limit, as in 8GiB.")

    def work(task: Task) -> Found:
        device = _device(place)  # asks the driver, which may take its time
        limit = place.limit_bytes or allocator_limit_bytes(device) or 0
        memory = planner.need(setup, device, on_progress=task.tell, cancelled=task.cancelled).memory
        guess = max(1, largest_through(memory, limit))
        return search(
            planner.model,
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


def compiling(planner: Planner, setup: Setup, device: Device) -> Work:
    def work(task: Task) -> None:
        with Compiler(planner.model, cancelled=task.cancelled) as compiler:
            task.hand_over(compiler.check(setup, device, task.tell))

    return work


def comparing(planner: Planner, measurement: Measurement) -> Work:
    """One that was measured elsewhere."""

    def work(task: Task) -> None:
        task.hand_over(Measured(measurement, _compared(planner, measurement, task)))

    return work


def _compared(planner: Planner, found: Measurement, task: Task) -> Comparison | None:
    """None where memory ran out before a step was over."""
    if not found.peaks:
        return None
    return compare_with_estimate(
        planner.model, found, tracer=planner.tracer, on_progress=task.tell, cancelled=task.cancelled
    )


def _device(place: Place) -> Device:
    if not place.on_gpu:
        return cpu_device(place.limit_bytes)
    machine = machine_gpus()
    if place.gpus[0] >= len(machine.gpus):
        raise DeviceError(machine.sentence or f"There is no GPU {place.gpus[0]} in this machine.")
    return find_device(machine.gpus[place.gpus[0]].name or "")
