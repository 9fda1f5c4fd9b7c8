"""The whole training: how long it takes, what energy it uses, and what it costs to rent or to buy.

days      samples x epochs / samples per second; the band is that of the speed
energy    watts of the GPUs and of the machine, for as long as it runs
rent      hours x the price of a whole machine
buy       cards and machine once, energy for every run
even      after how many runs buying costs less than renting
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from planner_app.core.buying.machines import Chassis, CloudMachine, Market, whole_computer
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.device import QUOTE
from planner_app.core.hardware.option import Option
from planner_app.core.hardware.prices import Cost, Pay, age, hourly, times
from planner_app.errors import SetupError

DAY = 86_400.0
# The draw of a GPU at work is its limit, as training keeps it busy; what a room's cooling adds is not counted.
HOST_WATTS = 150  # of a machine that is unknown: a processor, memory and fans


@dataclass(frozen=True, slots=True)
class Run:
    """What is to be trained, how often, and by when.

    Attributes:
        samples: In the training set.
        deadline_seconds: For one run.
        budget_usd: For everything: all runs rented, or hardware and energy.
        power_usd_per_kwh: 0 leaves energy out of the costs.
        runs: Over the whole time that is planned for.
        host_bytes: What the input pipeline holds in the host's memory.
        data_bytes: Of the training set on disk; 0 if unknown.
        pay: The one way to pay that is wanted; None is whatever is cheaper.
    """

    samples: int
    epochs: int
    deadline_seconds: float | None = None
    budget_usd: float | None = None
    power_usd_per_kwh: float = 0.0
    runs: int = 1
    host_bytes: int = 0
    data_bytes: int = 0
    pay: Pay | None = None

    def __post_init__(self) -> None:
        if self.samples < 1 or self.epochs < 1 or self.runs < 1:
            said = f"{self.samples} samples, {self.epochs} epochs, {self.runs} runs"
            raise SetupError(f"{said}: expected positive numbers.")

    @property
    def seen(self) -> int:
        return self.samples * self.epochs


class InTime(StrEnum):
    """Whether a run meets its deadline: even at the slow end of the speed's band, as expected, or not."""

    YES = "in time"
    LIKELY = "likely in time"
    NO = "too late"


@dataclass(frozen=True, slots=True)
class Rent:
    """One run on a rented machine."""

    machine: CloudMachine | None
    hour: Cost
    usd_a_run: float


@dataclass(frozen=True, slots=True)
class Purchase:
    """The hardware, and the energy of one run. `usd` is None where a price is unknown.

    Attributes:
        chassis: None where the device is a whole computer.
    """

    chassis: Chassis | None
    cards: Cost
    usd: float | None
    energy_usd_a_run: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """An option with all that the whole training takes on it.

    Attributes:
        seconds: Of one run as expected; `low_seconds` and `high_seconds` are the ends of its band.
        kwh: Of one run; None if the watts are unknown.
        no_machine: Why no chassis takes that many, in a few words; empty if one does.
    """

    option: Option
    run: Run
    seconds: float
    low_seconds: float
    high_seconds: float
    kwh: float | None
    rent: Rent | None
    buy: Purchase | None
    no_machine: str = ""

    @property
    def in_time(self) -> InTime:
        deadline = self.run.deadline_seconds
        if deadline is None or self.high_seconds <= deadline:
            return InTime.YES
        return InTime.LIKELY if self.seconds <= deadline else InTime.NO

    @property
    def rent_usd(self) -> float | None:
        return None if self.rent is None else self.rent.usd_a_run * self.run.runs

    @property
    def buy_usd(self) -> float | None:
        if self.buy is None or self.buy.usd is None:
            return None
        return self.buy.usd + self.buy.energy_usd_a_run * self.run.runs

    @property
    def pay(self) -> Pay | None:
        """The cheaper way to pay of those wanted; None if no price is known."""
        ways = {Pay.CLOUD: self.rent_usd, Pay.BUY: self.buy_usd}
        known = {way: usd for way, usd in ways.items() if usd is not None and self.run.pay in (None, way)}
        return min(known, key=lambda way: known[way], default=None)

    @property
    def usd(self) -> float | None:
        """Of all runs, paid in that way."""
        return {Pay.CLOUD: self.rent_usd, Pay.BUY: self.buy_usd, None: None}[self.pay]

    @property
    def even_after(self) -> float | None:
        """Runs after which buying costs less than renting; None if a price is unknown, or it never does."""
        if self.rent is None or self.buy is None or self.buy.usd is None:
            return None
        saved = self.rent.usd_a_run - self.buy.energy_usd_a_run
        return self.buy.usd / saved if saved > 0 else None

    @property
    def in_budget(self) -> bool:
        """Whether some way to pay stays within the budget. An unknown price does not."""
        return self.run.budget_usd is None or (self.usd is not None and self.usd <= self.run.budget_usd)


def propose(options: Iterable[Option], run: Run, market: Market, today: date) -> tuple[Proposal, ...]:
    """The whole run on every option whose speed is known."""
    return tuple(found for option in options if (found := _proposal(option, run, market, today)) is not None)


def _proposal(option: Option, run: Run, market: Market, today: date) -> Proposal | None:
    speed, device = option.speed, option.device
    if speed is None:
        return None
    seconds = run.seen / speed.samples_per_second
    chassis = None if whole_computer(device) else market.to_buy(device, option.gpus, run.host_bytes)
    host_watts = 0 if whole_computer(device) else chassis.host_watts if chassis else HOST_WATTS
    kwh = None if option.watts is None else (option.watts + host_watts) * seconds / 3600 / 1000
    return Proposal(
        option=option,
        run=run,
        seconds=seconds,
        low_seconds=run.seen / speed.high_samples_per_second,
        high_seconds=run.seen / speed.low_samples_per_second,
        kwh=kwh,
        rent=_rent(option, run, market, today, seconds),
        buy=_purchase(option, run, chassis, kwh),
        no_machine="" if chassis or whole_computer(device) else _why_no_machine(option, market),
    )


def _rent(option: Option, run: Run, market: Market, today: date, seconds: float) -> Rent | None:
    """A whole machine, or GPUs of somebody who rents them one by one: the cheaper, of the newest prices."""
    device, gpus = option.device, option.gpus
    ways: list[tuple[CloudMachine | None, Cost]] = []
    if (machine := market.to_rent(device, gpus, today, run.host_bytes)) is not None:
        ways.append((machine, times(machine.price, 1, today)))
    if (alone := hourly(device, gpus, today, but=market.renting(device))) is not None:
        ways.append((None, alone))
    if not ways:
        return None
    best, hour = min(ways, key=lambda way: (way[1].price.kind != QUOTE, age(way[1].price, today), way[1].usd))
    return Rent(best, hour, hour.usd * seconds / 3600)


def _purchase(option: Option, run: Run, chassis: Chassis | None, kwh: float | None) -> Purchase | None:
    if option.buy is None:
        return None
    energy = (kwh or 0.0) * run.power_usd_per_kwh
    if whole_computer(option.device):
        return Purchase(None, option.buy, option.buy.usd, energy)
    if chassis is None:
        return None
    whole = None if chassis.price is None else option.buy.usd + chassis.price.usd
    return Purchase(chassis, option.buy, whole, energy)


def _why_no_machine(option: Option, market: Market) -> str:
    """Of the machine that comes nearest: the largest that takes the kind at all."""
    reasons = [each.why_not(option.device, option.gpus) for each in market.chassis]
    return next((reason for reason in reversed(reasons) if "not " not in reason), reasons[-1] if reasons else "")


def ranked(proposals: Iterable[Proposal], *, sure: bool = False) -> list[Proposal]:
    """Cheapest first among those that fit, meet the deadline and stay in the budget; unknown costs last."""
    good = [
        each
        for each in proposals
        if each.option.verdict.yes(sure=sure) and each.in_time is not InTime.NO and each.in_budget
    ]
    return sorted(good, key=lambda each: (each.usd is None, each.usd or 0.0, each.seconds, each.option.gpus))


def safe(proposal: Proposal) -> bool:
    """Whether it needs no luck: it fits with its band, is in time with its band, and divides the batch evenly."""
    option = proposal.option
    return option.verdict is Verdict.FITS and proposal.in_time is InTime.YES and option.even
