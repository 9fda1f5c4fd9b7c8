"""Keeps the panel's question with its answer, as `plimsoll shop --scenario` does: `--again` asks it again."""

from collections.abc import Sequence
from datetime import date

from planner_app import __version__
from planner_app.core.buying.run import Proposal
from planner_app.core.buying.scenario import Scenario, answers
from planner_app.core.hardware.option import ShopRequest
from planner_app.core.model.description import CheckedModel
from planner_app.errors import PlannerError
from planner_app.gui.panels.hardware.values import Limits


def scenario_of(
    model: CheckedModel, request: ShopRequest, limits: Limits, proposals: Sequence[Proposal], today: date
) -> Scenario:
    """
    Raises:
        PlannerError: One step only is asked about.
    """
    run = limits.run()
    if run is None:
        raise PlannerError("A scenario is about the whole training: give the samples and epochs above the table.")
    return Scenario(
        model=model.name,
        model_sha256=model.sha256 or "",
        made=today.isoformat(),
        version=__version__,
        request=request,
        run=run,
        accepted=limits.accepted,
        wanted=limits.filter(),
        answers=answers(proposals),
    )
