"""Sorts and filters options, and finds those that nothing beats."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner_app.core.hardware.device import Segment
from planner_app.core.hardware.option import Option
from planner_app.core.hardware.prices import Cost, Pay

Key = Callable[[Option], float | None]


class By(StrEnum):
    """What to sort by."""

    PRICE = "price"
    HEADROOM = "headroom"
    SPEED = "speed"
    VALUE = "value"  # dollars for a million samples
    BATCH = "batch"
    WATTS = "watts"


@dataclass(frozen=True, slots=True)
class Filter:
    """Limits for options. A limit on a figure excludes options where it is unknown."""

    segments: frozenset[Segment] = frozenset()
    most_usd: float | None = None
    most_usd_an_hour: float | None = None
    most_watts: int | None = None
    priced: Pay | None = None
    fresh: bool = False

    def why_not(self, option: Option) -> str | None:
        """Why the option is excluded, in a few words; None if it is not."""
        if self.segments and option.device.segment not in self.segments:
            return f"is for {option.device.segment} use"
        for pay, most in ((Pay.BUY, self.most_usd), (Pay.CLOUD, self.most_usd_an_hour)):
            cost = cost_of(option, pay)
            each = " an hour" if pay is Pay.CLOUD else ""
            if (most is not None or self.priced is pay) and cost is None:
                return f"its price{each} is unknown"
            if most is not None and cost is not None and cost.usd > most:
                return f"costs ${cost.usd:,.2f}{each}"
            if self.fresh and self.priced is pay and cost is not None and cost.old:
                return f"its price{each} is old"
        if self.most_watts is not None and option.watts is None:
            return "its power is unknown"
        if self.most_watts is not None and option.watts is not None and option.watts > self.most_watts:
            return f"draws {option.watts} W"
        return None


EVERYTHING = Filter()


def kept(options: Iterable[Option], wanted: Filter) -> tuple[Option, ...]:
    return tuple(option for option in options if wanted.why_not(option) is None)


def cost_of(option: Option, pay: Pay) -> Cost | None:
    return option.hour if pay is Pay.CLOUD else option.buy


def key_of(by: By, pay: Pay) -> Key:
    """A figure that is smaller for better options; `None` if unknown."""

    def usd(option: Option) -> float | None:
        cost = cost_of(option, pay)
        return None if cost is None else cost.usd

    keys: dict[By, Key] = {
        By.PRICE: usd,
        By.HEADROOM: lambda option: -option.headroom_bytes,
        By.SPEED: lambda option: None if option.speed is None else -option.speed.samples_per_second,
        By.VALUE: lambda option: option.usd_per_million_samples,
        By.BATCH: lambda option: -option.largest_batch,
        By.WATTS: lambda option: option.watts,
    }
    return keys[by]


def ranked(options: Iterable[Option], by: By = By.PRICE, pay: Pay = Pay.CLOUD) -> list[Option]:
    """Best first, unknown last; among equals fewer GPUs, then the lower price, then the name."""
    key, usd = key_of(by, pay), key_of(By.PRICE, pay)
    return sorted(
        options,
        key=lambda option: (*_known_first(key(option)), option.gpus, *_known_first(usd(option)), option.device.name),
    )


def _known_first(figure: float | None) -> tuple[bool, float]:
    return (True, 0.0) if figure is None else (False, figure)


def one_of_each(options: Iterable[Option]) -> list[Option]:
    """The first option of every device."""
    first: dict[str, Option] = {}
    for option in options:
        first.setdefault(option.device.name, option)
    return list(first.values())


def front(options: Sequence[Option], by: By = By.SPEED, pay: Pay = Pay.CLOUD) -> list[Option]:
    """The Pareto front, cheapest first: no other option is cheaper and at least as good, or as cheap and better.

    An option without a price, or without the figure, is never on it.
    """
    price, gain = key_of(By.PRICE, pay), key_of(by, pay)
    figures = [
        (usd, figure, option)
        for option in options
        if (usd := price(option)) is not None and (figure := gain(option)) is not None
    ]
    found: list[Option] = []
    best = float("inf")
    cheapest_best = float("inf")
    for usd, figure, option in sorted(figures, key=lambda each: (each[0], each[1], each[2].gpus)):
        if figure < best:
            best, cheapest_best = figure, usd
            found.append(option)
        elif figure == best and usd == cheapest_best:
            found.append(option)
    return found
