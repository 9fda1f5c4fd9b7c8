"""What GPUs go into: machines that are bought, and machines that are rented whole."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from planner_app.core.hardware.device import Device, Price, Segment
from planner_app.core.hardware.prices import age

# A power supply that runs at its limit all day fails early; makers of power supplies ask for a fifth of reserve.
USABLE_POWER = 0.8
SLOTS = 2  # of a card whose width is unknown


@dataclass(frozen=True, slots=True)
class Chassis:
    """A machine without GPUs, as it is bought.

    Attributes:
        slots: Slots for cards, counted by single width.
        modules: Takes GPU modules (SXM) on a board of their own instead of cards.
        supply_watts: What the power supply gives.
        host_watts: What the machine draws at full load without GPUs.
        price: Without GPUs; None if unknown.
    """

    name: str
    slots: int
    most_gpus: int
    supply_watts: int
    host_watts: int
    memory_bytes: int
    disk_bytes: int
    modules: bool = False
    price: Price | None = None

    def why_not(self, device: Device, gpus: int) -> str:
        """Why that many of the device don't go in, in a few words; empty if they do."""
        boards = -(-gpus // device.board_gpus)
        if self.modules != is_module(device):
            return "it takes modules, not cards" if self.modules else "it takes cards, not modules"
        if gpus > self.most_gpus:
            return f"it holds {self.most_gpus} GPUs"
        wanted = boards * (device.slots or SLOTS)
        if not self.modules and wanted > self.slots:
            return f"{boards} cards take {wanted:g} of its {self.slots} slots"
        if device.tdp_watts is not None and gpus * device.tdp_watts + self.host_watts > self.usable_watts:
            drawn = gpus * device.tdp_watts + self.host_watts
            return f"{drawn:,} W are more than its power supply of {self.supply_watts:,} W gives for long"
        return ""

    @property
    def usable_watts(self) -> float:
        return self.supply_watts * USABLE_POWER

    def most(self, device: Device) -> int:
        """How many of the device go in."""
        return max((n for n in range(1, self.most_gpus + 1) if not self.why_not(device, n)), default=0)


@dataclass(frozen=True, slots=True)
class CloudMachine:
    """A machine as a cloud rents it: whole, with all its GPUs. The price is for an hour on demand."""

    provider: str
    name: str
    device: str
    gpus: int
    vcpus: int
    memory_bytes: int
    usd_per_hour: float
    region: str
    date: str | None = None

    @property
    def price(self) -> Price:
        return Price(self.usd_per_hour, self.provider, self.date, note=f"{self.name}, {self.region}")


@dataclass(frozen=True)
class Market:
    """Machines on offer."""

    chassis: tuple[Chassis, ...] = ()
    cloud: tuple[CloudMachine, ...] = ()

    @cached_property
    def _rented(self) -> dict[str, list[CloudMachine]]:
        """By device: a ranking asks for each of a hundred in sixteen numbers."""
        found: dict[str, list[CloudMachine]] = {}
        for machine in self.cloud:
            found.setdefault(machine.device, []).append(machine)
        return found

    def to_buy(self, device: Device, gpus: int, host_bytes: int = 0) -> Chassis | None:
        """The cheapest chassis for that many of the device, with enough memory of its own. One without a price comes
        last. A laptop, and a module that is a computer already, needs none."""
        fitting = (each for each in self.chassis if not each.why_not(device, gpus) and each.memory_bytes >= host_bytes)
        return min(fitting, key=lambda each: (each.price is None, each.price.usd if each.price else 0), default=None)

    def to_rent(self, device: Device, gpus: int, today: datetime.date, host_bytes: int = 0) -> CloudMachine | None:
        """The cheapest machine with at least that many of the device; an old price only if there is no newer one."""
        fitting = (
            each for each in self._rented.get(device.name, ()) if each.gpus >= gpus and each.memory_bytes >= host_bytes
        )
        return min(fitting, key=lambda each: (age(each.price, today), each.usd_per_hour), default=None)

    def renting(self, device: Device) -> frozenset[str]:
        """Providers whose machines with the device are listed: they rent these, and no single GPUs."""
        return frozenset(each.provider.casefold() for each in self._rented.get(device.name, ()))


def is_module(device: Device) -> bool:
    return device.segment is Segment.DATACENTER and device.slots is None


def whole_computer(device: Device) -> bool:
    """Sold as a computer, not as a part of one."""
    return device.segment in (Segment.LAPTOP, Segment.EDGE) or device.unified


def providers(machines: Iterable[CloudMachine]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(machine.provider for machine in machines))
