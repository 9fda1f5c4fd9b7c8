"""From a model to offers: traces are made as they are found to be needed, those for accumulation only then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from planner_app.core.hardware.device import Device
from planner_app.core.hardware.option import Offers, Option, ShopRequest
from planner_app.core.hardware.prices import NEW_TODAY, Accepted
from planner_app.core.hardware.refusal import Why
from planner_app.core.hardware.shop import Measured, shop
from planner_app.core.model.setup import Precision, Setup
from planner_app.jobs.protocol import Progress
from planner_app.planner.lines import Ask

if TYPE_CHECKING:
    from planner_app.planner.planner import Planner

MOST_ASKED = 4  # offers that the compiler is asked about in a round, where their verdicts hang on it


def offers_for(
    planner: Planner,
    request: ShopRequest,
    devices: Sequence[Device],
    *,
    today: date,
    measured: Measured | None = None,
    accepted: Accepted = NEW_TODAY,
    on_progress: Callable[[Progress], None] | None = None,
) -> Offers:
    """What a step takes is worked out while the next one is traced."""

    def counted() -> Offers:
        return shop(request, devices, planner.needs, today=today, measured=measured, accepted=accepted)

    while (offers := counted()).missing:
        planner.trace(offers.missing, on_progress, then=lambda _: counted())
    return offers


def points(request: ShopRequest, offers: Offers, ask: Ask) -> Iterator[tuple[Setup, Device]]:
    """What carries the training, and what just does not, on one GPU each: several are not compiled.

    Of a long list dozens lie near their limit, and compiling for each takes minutes: only the first few are asked
    about, unless every figure is to be the compiler's own. What it has said before counts anyway.
    """
    alone = [option for option in offers.options if option.setup.gpus == 1]
    for option in alone if ask is Ask.ALWAYS else alone[:MOST_ASKED]:
        yield option.setup, option.device
    if ask is not Ask.ALWAYS:
        return
    for refusal in offers.refusals:
        if refusal.why is Why.MEMORY and refusal.gpus == 1:
            yield request.trained(Precision(refusal.precision), 1, refusal.accumulate), refusal.device


def confirmed(planner: Planner, request: ShopRequest, options: Sequence[Option]) -> list[Option]:
    """The same options, their largest batch confirmed by replays, as everywhere else: for those that are shown."""
    return [_confirmed(planner, request, option) for option in options]


def _confirmed(planner: Planner, request: ShopRequest, option: Option) -> Option:
    if option.on_jax:
        return option  # its figures are those of one GPU's step
    solved = planner.needs.of(option.setup, option.device).largest(sure=request.sure)
    return option if solved is None else replace(option, largest_batch=solved.batch * option.setup.replicas)
