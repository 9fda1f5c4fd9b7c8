"""Where the figures of a page come from: each price with its source and day, and how speed and memory are known."""

from collections.abc import Iterator, Sequence

from planner_app.core.buying.run import Proposal
from planner_app.core.hardware.device import Price
from planner_app.core.hardware.refusal import short_name
from planner_app.reports.buying.shop_rows import format_usd


def sources(shown: Sequence[Proposal]) -> Iterator[str]:
    seen: dict[str, None] = {}
    for each in shown:
        name = short_name(each.option.device)
        if each.rent is not None:
            price, machine = each.rent.hour.price, each.rent.machine
            what = "an hour of the machine" if machine else "an hour of one"
            seen[f"{name} for rent: {_priced(price, what)}"] = None
        if each.buy is not None and each.buy.usd is not None:
            what = "a board" if each.option.device.board_gpus > 1 else "each"
            seen[f"{name} to buy: {_priced(each.buy.cards.price, what, str(each.buy.cards.price.condition))}"] = None
            chassis = each.buy.chassis
            if chassis is not None and chassis.price is not None:
                seen[f"{chassis.name}: {_priced(chassis.price)}"] = None
    yield from seen
    yield "Speed: the shares of data sheets' figures that 613 published trainings reached (plimsoll's tests/speeds)"
    yield "Memory: the training step traced and replayed through TensorFlow's allocator, without running it"


def _priced(price: Price, what: str = "", condition: str = "") -> str:
    asked = f" ({price.amount:,.2f} {price.currency})" if price.amount is not None else ""
    amount = f"{format_usd(price.usd)}{asked} {what}".rstrip()
    return ", ".join(part for part in (amount, price.source, condition, price.note, price.date) if part)
