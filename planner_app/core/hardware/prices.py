"""What a number of GPUs costs: to buy, or by the hour. A missing price is unknown, never zero.

A price belongs to the day it was published. After 90 days it is old, and one without a date may be: both are marked,
and count only where there is no newer one. Your own quotes come before anybody's list.
Used cards and list prices at launch count only where they are asked for: neither is what a new card costs today.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from math import inf

from planner_app.core.hardware.device import QUOTE, Condition, Device, Price

OLD_AFTER_DAYS = 90


class Pay(StrEnum):
    """How hardware is paid for."""

    CLOUD = "cloud"
    BUY = "buy"


@dataclass(frozen=True, slots=True)
class Accepted:
    """Which prices to buy count besides those of new cards today."""

    used: bool = False
    launch: bool = False


NEW_TODAY = Accepted()


@dataclass(frozen=True, slots=True)
class Cost:
    """Of all GPUs together: `usd` to buy them, or an hour of them. `price` is that of one, or of one board."""

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


def age(price: Price, today: date) -> float:
    """In whole spans of 90 days: 0 until it is old. Without a date it is older than any other."""
    day = day_of(price.date)
    return inf if day is None else max((today - day).days - 1, 0) // OLD_AFTER_DAYS


def cheapest(prices: Iterable[Price], today: date) -> Price | None:
    """The lowest of the newest prices."""
    return min(prices, key=lambda price: (price.kind != QUOTE, age(price, today), price.usd), default=None)


def hourly(device: Device, gpus: int, today: date, but: Collection[str] = ()) -> Cost | None:
    """Without the lists of some providers."""
    counted = (price for price in device.cloud_prices if price.kind == QUOTE or price.source.casefold() not in but)
    least = cheapest(counted, today)
    return None if least is None else times(least, gpus, today)


def asked(device: Device, accepted: Accepted) -> tuple[Price, ...]:
    """Prices of a card that count; the launch price after all."""
    market = [price for price in device.market_prices if accepted.used or price.condition is Condition.NEW]
    own = tuple(price for price in market if price.kind == QUOTE)
    if own or market:
        return own or tuple(market)
    return (device.launch_price,) if accepted.launch and device.launch_price else ()


def purchase(device: Device, gpus: int, today: date, accepted: Accepted = NEW_TODAY) -> Cost | None:
    """Of the cards alone, without the machines they go into; where a board carries several GPUs, of whole boards."""
    least = cheapest(asked(device, accepted), today)
    return None if least is None else times(least, -(-gpus // device.board_gpus), today)


def times(price: Price, count: int, today: date) -> Cost:
    return Cost(price.usd * count, price, is_old(price, today))
