"""The hardware panel as plain values: filtered and sorted offers, and the reasons for the rest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from planner_app.core.buying.machines import Market
from planner_app.core.buying.run import DAY, Proposal, Run, propose
from planner_app.core.buying.run import ranked as by_cost
from planner_app.core.hardware.catalogue import Catalogue
from planner_app.core.hardware.device import Device, Segment
from planner_app.core.hardware.option import Offers, Option, ShopRequest
from planner_app.core.hardware.prices import NEW_TODAY, Accepted, Pay
from planner_app.core.hardware.ranking import By, Filter, front, kept, key_of, one_of_each, ranked
from planner_app.core.hardware.refusal import short_name
from planner_app.core.measure.measurement import Measurement
from planner_app.core.model.setup import Setup
from planner_app.errors import DeviceError
from planner_app.gui.state.choice import Choice
from planner_app.reports.signing.page import page

Key = tuple[str, int]  # a device's name, and how many of it


class Gain(StrEnum):
    """What money buys: the height of a dot."""

    SPEED = "samples/s"
    BATCH = "largest batch"


NO_MARKET = Market()
GAINS = {Gain.SPEED: By.SPEED, Gain.BATCH: By.BATCH}


@dataclass(frozen=True, slots=True)
class Limits:
    """What the user sets above the table.

    Attributes:
        most_usd: Per hour or in total, depending on how they pay.
        every_count: Every number of GPUs; otherwise the best one of each device, and those that nothing beats.
        samples: In the training set; 0 asks about one step only.
    """

    pay: Pay = Pay.CLOUD
    most_usd: float | None = None
    most_watts: int | None = None
    segment: Segment | None = None
    by: By = By.PRICE
    gain: Gain = Gain.SPEED
    most_accumulate: int = 1
    every_count: bool = False
    samples: int = 0
    epochs: int = 1
    deadline_days: float | None = None
    runs: int = 1
    power_usd_per_kwh: float = 0.0
    accepted: Accepted = NEW_TODAY

    def run(self) -> Run | None:
        """The whole training; None where only one step is asked about."""
        if not self.samples:
            return None
        deadline = None if self.deadline_days is None else self.deadline_days * DAY
        return Run(self.samples, self.epochs, deadline, None, self.power_usd_per_kwh, self.runs)

    def filter(self) -> Filter:
        return Filter(
            segments=frozenset() if self.segment is None else frozenset({self.segment}),
            most_usd=self.most_usd if self.pay is Pay.BUY else None,
            most_usd_an_hour=self.most_usd if self.pay is Pay.CLOUD else None,
            most_watts=self.most_watts,
        )


@dataclass(frozen=True, slots=True)
class Dot:
    """One offer on the scatter plot: price on the x axis, what it buys on the y axis."""

    key: Key
    usd: float
    gain: float
    text: str
    best: bool


@dataclass(frozen=True, slots=True)
class Hardware:
    """Attributes:
    kept: All offers within the limits, the best first; `options` are those listed.
    reasons: A device that is not listed, and why.
    proposals: What the whole training takes on each of `kept`; empty where it is not asked about.
    """

    limits: Limits = Limits()
    kept: tuple[Option, ...] = ()
    options: tuple[Option, ...] = ()
    front: tuple[Option, ...] = ()
    dots: tuple[Dot, ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()
    caption: str = ""
    proposals: tuple[Proposal, ...] = ()


def request_of(choice: Choice, limits: Limits) -> ShopRequest:
    """The request for the chosen setup: its precision is kept, GPUs and steps may vary."""
    setup = replace(choice.setup, gpus=1, accumulate=1)
    return ShopRequest(setup, (setup.precision,), max(limits.most_accumulate, choice.setup.accumulate))


def key_of_option(option: Option) -> Key:
    return option.device.name, option.gpus


def hardware(
    request: ShopRequest, offers: Offers, limits: Limits, market: Market = NO_MARKET, today: date = date.min
) -> Hardware:
    inside = tuple(ranked(kept(offers.options, limits.filter()), limits.by, limits.pay))
    best = tuple(front(inside, GAINS[limits.gain], limits.pay))
    run = limits.run()
    proposals = () if run is None else propose(inside, run, market, today)
    listed = inside
    if run is not None:
        listed = inside = tuple(each.option for each in by_cost(proposals))
        best = tuple(option for option in best if any(option is each for each in inside))
    if not limits.every_count:
        chosen = {id(option) for option in (*one_of_each(inside), *best)}
        listed = tuple(option for option in inside if id(option) in chosen)
    return Hardware(
        limits=limits,
        kept=inside,
        options=listed,
        front=best,
        dots=_dots(inside, best, limits),
        reasons=_reasons(offers, inside, limits),
        caption=_caption(request, offers, len(inside))
        if run is None
        else _answer(request, run, proposals, offers.nearest),
        proposals=proposals,
    )


def _answer(request: ShopRequest, run: Run, proposals: Sequence[Proposal], nearest: str) -> str:
    made = page("", request, run, proposals, date.min, nearest=nearest)
    return ". ".join((made.answer, *made.grounds)) + "."


def _dots(options: Iterable[Option], best: Sequence[Option], limits: Limits) -> tuple[Dot, ...]:
    """Offers without a price or a known gain are left out."""
    usd, gain = key_of(By.PRICE, limits.pay), key_of(GAINS[limits.gain], limits.pay)
    on_front = {id(option) for option in best}
    return tuple(
        Dot(
            key_of_option(option),
            price,
            -figure,
            f"{option.gpus} x {short_name(option.device)}",
            id(option) in on_front,
        )
        for option in options
        if (price := usd(option)) is not None and (figure := gain(option)) is not None and price > 0 and figure < 0
    )


def _reasons(offers: Offers, inside: Sequence[Option], limits: Limits) -> tuple[tuple[str, str], ...]:
    """Nearest to fitting first; then those that fit, but not within the limits."""
    listed = {option.device.name for option in inside}
    why_out = limits.filter().why_not
    segment = limits.segment
    refused = [
        (short_name(refusal.device), refusal.sentence)
        for refusal in offers.why_not()
        if segment is None or refusal.device.segment is segment
    ]
    outside = [
        (short_name(option.device), f"fits, but {why}")
        for option in one_of_each(ranked(offers.options, limits.by, limits.pay))
        if option.device.name not in listed and (why := why_out(option))
    ]
    return (*refused, *outside)


def _caption(request: ShopRequest, offers: Offers, inside: int) -> str:
    batch = f"{request.setup.batch:,} samples per update in {request.precisions[0]}"
    tried = len(offers.options) + len(offers.refusals)
    said = f"{inside:,} of {tried:,} offers fit {batch}" if inside else f"None of {tried:,} offers fits {batch}"
    if out := len(offers.options) - inside:
        said += f"; {out:,} more do, outside your limits"
    return f"{said}. {_untraced(offers)}Speed is expected from data sheets and published trainings, not measured."


def _untraced(offers: Offers) -> str:
    targets = sorted({step.target.removeprefix("gpu:") for step in offers.missing})
    return f"GPUs of compute capability {', '.join(targets)} follow when traced. " if targets else ""


def used(choice: Choice, option: Option) -> Choice:
    """The choice with the option's device, GPU count, steps and precision."""
    return replace(choice, device=option.device, setup=option.setup)


def drawn(choice: Choice, device: Device, instead: Device | None) -> Choice:
    """Adds a capacity line, in place of the one added the same way before."""
    devices = tuple(each for each in choice.devices if each != instead or each == choice.device)
    return replace(choice, devices=devices if device in devices else (*devices, device))


def measured(measurements: Iterable[Measurement], catalogue: Catalogue) -> dict[tuple[str, Setup], float]:
    """Measured seconds per update, on GPUs of one kind."""
    found = {}
    for each in measurements:
        names = set(each.hardware.split(" + "))
        seconds = each.seconds_per_step
        if each.place.on_gpu and len(names) == 1 and seconds and not each.fits:
            try:
                name = catalogue.find(names.pop()).name
            except DeviceError:
                continue
            found[name, each.setup] = seconds * each.setup.accumulate
    return found
