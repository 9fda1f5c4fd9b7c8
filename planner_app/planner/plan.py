"""From a model and a wish to a plan: the traces that are missing are made, the rest is arithmetic."""

from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata

from planner_app import __version__
from planner_app.core.measure.calibration import Taught, untaught
from planner_app.core.plan.ladder import Wish, needed_steps, plan_of
from planner_app.core.plan.plan import Plan
from planner_app.jobs.protocol import Progress
from planner_app.planner.tracer import Tracer

PACKAGES = ("tensorflow", "keras")


def make_plan(
    tracer: Tracer,
    file: str,
    wish: Wish,
    on_progress: Callable[[Progress], None] | None = None,
    *,
    taught: Taught = untaught,
) -> Plan:
    """The plan for the tracer's model. `file` is what the plan calls it: its file's name, or `file.py:function`.

    Raises:
        DoesNotFit: On none of the devices does any rung fit.
    """
    steps = needed_steps(wish)
    tracer.prepare(steps, on_progress)
    memories = {step: tracer.memory(step, on_progress) for step in steps}
    try:
        return plan_of(tracer.model, memories, wish, file=file, created=now(), versions=versions(), taught=taught)
    finally:
        tracer.keep()


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def versions() -> dict[str, str]:
    """Of what the figures depend on, as far as it is installed here."""
    found = {"plimsoll": __version__}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
