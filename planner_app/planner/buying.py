"""From a model to proposals: what the whole training takes on everything that fits it, rented or bought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from planner_app import __version__
from planner_app.core.buying.machines import Market
from planner_app.core.buying.run import Proposal, Run, propose, ranked
from planner_app.core.buying.scenario import Change, Scenario, answers, compare
from planner_app.core.hardware.device import Device
from planner_app.core.hardware.option import Offers, ShopRequest
from planner_app.core.hardware.prices import NEW_TODAY, Accepted
from planner_app.core.hardware.ranking import EVERYTHING, Filter, kept
from planner_app.core.hardware.shop import Measured
from planner_app.core.plan.pipeline import InputSettings, input_plan, sample_bytes
from planner_app.jobs.protocol import Progress

if TYPE_CHECKING:
    from planner_app.planner.planner import Planner


@dataclass(frozen=True, slots=True)
class Answered:
    """A question about hardware and its answer.

    Attributes:
        proposals: Of everything that fits; `best` are those within the limits, cheapest first.
        changes: Since the scenario that was asked again; empty for a new question.
    """

    scenario: Scenario
    offers: Offers
    proposals: tuple[Proposal, ...]
    best: tuple[Proposal, ...]
    changes: tuple[Change, ...] = ()
    since: str = ""


def whole_run(
    planner: Planner,
    request: ShopRequest,
    run: Run,
    devices: Sequence[Device],
    market: Market,
    *,
    today: date,
    accepted: Accepted = NEW_TODAY,
    measured: Measured | None = None,
    wanted: Filter = EVERYTHING,
    named: Sequence[str] = (),
    input: InputSettings | None = None,
    before: Scenario | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Answered:
    """`named` are devices that were asked for by name, to be kept; `before` is a scenario that is asked again."""
    offers = planner.shop(request, devices, today=today, measured=measured, accepted=accepted, on_progress=on_progress)
    held = None if input is None else _host_bytes(planner, request, _within(input, run.samples))
    settled = run if held is None else replace(run, host_bytes=held)
    proposals = propose(kept(offers.options, wanted), settled, market, today)
    best = tuple(ranked(proposals, sure=request.sure))
    scenario = Scenario(
        model=planner.model.name,
        model_sha256=planner.model.sha256 or "",
        made=today.isoformat(),
        version=__version__,
        request=request,
        run=settled,
        accepted=accepted,
        devices=tuple(named),
        wanted=wanted,
        answers=answers(best),
    )
    if before is None:
        return Answered(scenario, offers, proposals, best)
    return Answered(scenario, offers, proposals, best, compare(before.answers, scenario.answers), before.made)


def _within(settings: InputSettings, samples: int) -> InputSettings:
    """No dataset can shuffle or cache more samples than it has."""
    shuffled, cached = min(settings.shuffle_samples, samples), min(settings.cached_samples, samples)
    return replace(settings, shuffle_samples=shuffled, cached_samples=cached)


def _host_bytes(planner: Planner, request: ShopRequest, settings: InputSettings) -> int:
    """What the input pipeline holds in the host's memory, whatever the GPUs."""
    known = next(iter(planner.tracer.known.values()), None)
    if known is None:
        return 0
    return input_plan(settings, sample_bytes(known.trace), request.setup.batch).host_bytes
