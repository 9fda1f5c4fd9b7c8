"""A checked model, rebuilt without its weights and described."""

from collections.abc import Callable

from planner_app.core.model.description import ModelDescription
from planner_app.jobs import protocol
from planner_app.worker.importing import collect_seldom, quickly

Report = Callable[[int, int, str], None]


def describe(request: protocol.Describe, report: Report) -> ModelDescription:
    report(0, 3, "importing TensorFlow")
    with quickly():  # seconds, so it is said first
        from planner_app.worker.build.description import description_of
        from planner_app.worker.build.rebuild import rebuilt

    collect_seldom()
    report(1, 3, "rebuilding the model")
    made = rebuilt(request.model, sizes=request.sizes or None)
    report(2, 3, "describing the layers")
    return description_of(made, request.model)
