"""From a model and a request to a plan: the traces that are missing are made, the rest is arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from planner_app import __version__
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup
from planner_app.core.plan.ladder import PlanRequest, needed_steps, plan_of, rung_setups
from planner_app.core.plan.plan import Plan
from planner_app.jobs.protocol import Progress
from planner_app.jobs.versions import figures_depend_on
from planner_app.planner.lines import Ask

if TYPE_CHECKING:
    from planner_app.planner.planner import Planner


def make_plan(planner: Planner, request: PlanRequest, on_progress: Callable[[Progress], None] | None = None) -> Plan:
    """
    Raises:
        DoesNotFit: No rung fits on any of the devices.
    """
    steps = needed_steps(request)
    planner.trace(steps, on_progress)
    if planner.ask is Ask.WHEN_OPEN:
        planner.ask_compiler(candidates(request), request.memory.limit_bytes, on_progress=on_progress)

    def made() -> Plan:
        needs = planner.needs_of({step: planner.tracer.memory(step, on_progress) for step in steps})
        return plan_of(planner.model, needs, request, file=planner.file, created=now(), versions=versions())

    plan = made()
    cut = [device for device in request.devices if device.name in _accumulated(request, plan)]
    for device in cut:  # what fits at once is said beside it, as `max-batch` says it
        planner.largest(request.setup, device, request.memory.limit_bytes, on_progress=on_progress)
    return made() if cut else plan


def _accumulated(request: PlanRequest, plan: Plan) -> set[str]:
    """The devices on which the batch does not fit at once."""
    return {entry.device.name for entry in plan.devices if entry.rungs[0].accumulate > request.setup.accumulate}


def points(request: PlanRequest, plan: Plan) -> Iterator[tuple[Setup, Device]]:
    """What a plan's rungs stand for."""
    devices = {device.name: device for device in request.devices}
    for entry in plan.devices:
        for rung in entry.rungs:
            setup = replace(request.setup, precision=rung.precision, accumulate=rung.accumulate)
            yield setup, devices[entry.device.name]


def candidates(request: PlanRequest) -> Iterator[tuple[Setup, Device]]:
    """What a plan may be made of: one that just does not fit by the estimate may fit by the compiler."""
    return ((setup, device) for setup in rung_setups(request) for device in request.devices)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def versions() -> dict[str, str]:
    """Of what the figures depend on, as far as it is there."""
    there = {package: version for package, version in figures_depend_on().items() if version}
    return {"plimsoll": __version__, **there}
