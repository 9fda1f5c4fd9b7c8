"""From a model and a request to a plan: the traces that are missing are made, the rest is arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from planner_app import __version__
from planner_app.core.plan.ladder import PlanRequest, needed_steps, plan_of
from planner_app.core.plan.plan import Plan
from planner_app.jobs.protocol import Progress
from planner_app.jobs.versions import figures_depend_on

if TYPE_CHECKING:
    from planner_app.planner.planner import Planner


def make_plan(planner: Planner, request: PlanRequest, on_progress: Callable[[Progress], None] | None = None) -> Plan:
    """
    Raises:
        DoesNotFit: No rung fits on any of the devices.
    """
    steps = needed_steps(request)
    planner.trace(steps, on_progress)
    needs = planner.needs_of({step: planner.tracer.memory(step, on_progress) for step in steps})
    return plan_of(planner.model, needs, request, file=planner.file, created=now(), versions=versions())


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def versions() -> dict[str, str]:
    """Of what the figures depend on, as far as it is there."""
    there = {package: version for package, version in figures_depend_on().items() if version}
    return {"plimsoll": __version__, **there}
