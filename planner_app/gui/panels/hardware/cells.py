"""An option's figures as table cells: text, sort key and tooltip."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner_app.core.buying.run import InTime, Proposal
from planner_app.core.hardware.option import Option
from planner_app.core.hardware.prices import Cost
from planner_app.core.hardware.refusal import short_name
from planner_app.core.hardware.roofline import Source
from planner_app.reports.buying.shop_rows import UNKNOWN, format_rate, format_usd
from planner_app.reports.signing.spans import days
from planner_app.units import format_bytes


@dataclass(frozen=True, slots=True)
class Column:
    """Attributes:
    figure: The sort key; None is unknown, and sorts last in either direction.
    """

    title: str
    tip: str
    text: Callable[[Option], str]
    figure: Callable[[Option], float | str | None]
    left: bool = False


def _usd(cost: Cost | None) -> str:
    return UNKNOWN if cost is None else format_usd(cost.usd) + (" old" if cost.old else "")


def _speed(option: Option) -> str:
    if option.speed is None:
        return UNKNOWN
    about = "" if option.speed.source is Source.MEASURED else ">" if option.speed.at_least else "~"
    return about + format_rate(option.speed.samples_per_second)


def _gives(option: Option) -> str:
    return f"{'~' if option.device.total_is_derived else ''}{format_bytes(option.headroom_bytes)}"


COLUMNS = (
    Column("Device", "Bold: nothing else is both as cheap and as good", lambda o: short_name(o.device),
           lambda o: short_name(o.device).lower(), left=True),
    Column("GPUs", "Number of GPUs", lambda o: str(o.gpus), lambda o: o.gpus),
    Column("Each", "Samples on each GPU at a time", lambda o: f"{o.setup.per_gpu_batch:,}",
           lambda o: o.setup.per_gpu_batch),
    Column("Steps", "Accumulation steps per update", lambda o: str(o.setup.accumulate),
           lambda o: o.setup.accumulate),
    Column("Needs", "At the peak, on each GPU", lambda o: format_bytes(o.level.peak_bytes),
           lambda o: o.level.peak_bytes),
    Column("Headroom", "What is left of what TensorFlow gets of each GPU; ~: its memory is derived, not confirmed",
           _gives, lambda o: o.headroom_bytes),
    Column("Per hour", "On demand, all GPUs together; old: more than 90 days old, or without a date",
           lambda o: _usd(o.hour), lambda o: o.hour.usd if o.hour else None),
    Column("To buy", "The cards alone, without the machines they go into", lambda o: _usd(o.buy),
           lambda o: o.buy.usd if o.buy else None),
    Column("Watts", "Of all cards at full load", lambda o: UNKNOWN if o.watts is None else f"{o.watts:,}",
           lambda o: o.watts),
    Column("Samples/s", "~ is expected from data sheets and published trainings; nothing was run", _speed,
           lambda o: o.speed.samples_per_second if o.speed else None),
    Column("Largest", "The most samples that all GPUs together hold at a time", lambda o: f"{o.largest_batch:,}",
           lambda o: o.largest_batch),
)  # fmt: skip


def columns_of(proposals: Sequence[Proposal]) -> tuple[Column, ...]:
    """With what the whole training takes, where that is asked about."""
    if not proposals:
        return COLUMNS
    whole = {id(each.option): each for each in proposals}

    def usd(figure: Callable[[Proposal], float | None]) -> Callable[[Option], str]:
        def shown(option: Option) -> str:
            amount = figure(whole[id(option)])
            return UNKNOWN if amount is None else format_usd(amount)

        return shown

    return (
        *COLUMNS,
        Column("A run", "The whole training, as expected; ?: too late at the slow end of the speed's band",
               lambda o: days(whole[id(o)].seconds) + ("?" if whole[id(o)].in_time is InTime.LIKELY else ""),
               lambda o: whole[id(o)].seconds),
        Column("Rent", "All runs on rented machines", usd(lambda each: each.rent_usd),
               lambda o: whole[id(o)].rent_usd),
        Column("Buy", "Cards, a machine and the energy of all runs", usd(lambda each: each.buy_usd),
               lambda o: whole[id(o)].buy_usd),
        Column("Even after", "Runs after which buying costs less than renting",
               lambda o: "-" if (even := whole[id(o)].even_after) is None else f"{max(even, 1):,.0f}",
               lambda o: whole[id(o)].even_after),
    )  # fmt: skip


def about(option: Option) -> str:
    """What to know before spending money on it."""
    lines = [f"{option.gpus} x {option.device.name}"]
    for word, cost in (("Per hour", option.hour), ("To buy", option.buy)):
        if cost is not None:
            price = cost.price
            parts = (price.source, price.kind, price.note, price.date or "undated", "old" if cost.old else "")
            lines.append(f"{word}: {format_usd(price.usd)} a GPU ({', '.join(filter(None, parts))})")
    if option.usd_per_million_samples is not None:
        lines.append(f"A million samples: {format_usd(option.usd_per_million_samples)}")
    return "\n".join([*lines, *(f"{note[:1].upper()}{note[1:]}" for note in option.notes)])
