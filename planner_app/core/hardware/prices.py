"""What a number of GPUs costs: to buy, or by the hour. A missing price is unknown, never zero.

A price belongs to the day it was published. After 90 days it is old, and one without a date may be: both are marked.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from planner_app.core.hardware.device import Device, Price

OLD_AFTER_DAYS = 90


class Pay(StrEnum):
    """How hardware is paid for."""

    CLOUD = "cloud"
    BUY = "buy"


@dataclass(frozen=True, slots=True)
class Cost:
    """Of all GPUs together: `usd` to buy them, or an hour of them. `price` is that of one."""

    usd: float
    price: Price
    old: bool


def day_of(text: str | None) -> date | None:
    """The first day that "2026-08-22", "2026-08" or "2026" can mean; `None` if it is not a date."""
    if not text:
        return None
    try:
        year, month, day = (*map(int, text.split("-")), 1, 1)[:3]
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def is_old(price: Price, today: date) -> bool:
    """Whether it is more than 90 days old, or may be."""
    day = day_of(price.date)
    return day is None or (today - day).days > OLD_AFTER_DAYS


def cheapest(prices: Iterable[Price], today: date) -> Price | None:
    """The lowest price that is not old; an old one only if there is no other."""
    return min(prices, key=lambda price: (is_old(price, today), price.usd), default=None)


def hourly(device: Device, gpus: int, today: date) -> Cost | None:
    return _times(cheapest(device.cloud_prices, today), gpus, today)


def purchase(device: Device, gpus: int, today: date) -> Cost | None:
    """Of the cards alone, without the machines they go into."""
    return _times(device.launch_price, gpus, today)


def _times(price: Price | None, gpus: int, today: date) -> Cost | None:
    return None if price is None else Cost(price.usd * gpus, price, is_old(price, today))
