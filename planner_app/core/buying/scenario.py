"""A question about hardware and its answer, kept so that it can be asked again: next year, at other prices."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from planner_app.core.buying.run import Proposal, Run
from planner_app.core.hardware.option import ShopRequest
from planner_app.core.hardware.prices import NEW_TODAY, Accepted
from planner_app.core.hardware.ranking import EVERYTHING, Filter

KEPT = 20  # answers; the rest would never be looked up
NOTICED = 0.05  # a change of less is not worth a line


@dataclass(frozen=True, slots=True)
class Answer:
    """One proposal in figures. Unknown is None."""

    device: str
    gpus: int
    precision: str
    verdict: str
    peak_bytes: int
    samples_per_second: float
    days: float
    rent_usd: float | None
    rent_from: str
    buy_usd: float | None
    buy_from: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """Attributes:
    made: The day, as "2026-11-18".
    version: Of plimsoll.
    devices: Names of those to compare; empty for all.
    answers: Best first.
    """

    model: str
    model_sha256: str
    made: str
    version: str
    request: ShopRequest
    run: Run
    accepted: Accepted = NEW_TODAY
    devices: tuple[str, ...] = ()
    wanted: Filter = EVERYTHING
    answers: tuple[Answer, ...] = ()


def answers(proposals: Sequence[Proposal]) -> tuple[Answer, ...]:
    return tuple(_answer(each) for each in proposals[:KEPT])


def _answer(of: Proposal) -> Answer:
    option, rent, buy = of.option, of.rent, of.buy
    return Answer(
        device=option.device.name,
        gpus=option.gpus,
        precision=str(option.setup.precision),
        verdict=str(option.verdict),
        peak_bytes=option.level.peak_bytes,
        samples_per_second=round(option.speed.samples_per_second, 2) if option.speed else 0.0,
        days=round(of.seconds / 86_400, 3),
        rent_usd=None if of.rent_usd is None else round(of.rent_usd, 2),
        rent_from="" if rent is None else _source(rent.hour.price.source, rent.hour.price.note, rent.hour.price.date),
        buy_usd=None if of.buy_usd is None else round(of.buy_usd, 2),
        buy_from="" if buy is None else _source(buy.cards.price.source, buy.cards.price.note, buy.cards.price.date),
    )


def _source(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one answer: `after` is None if it is no longer among the best, `before` if it is new there."""

    before: Answer | None
    after: Answer | None
    places: tuple[int | None, int | None]

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(self._said())

    def _said(self) -> Iterator[str]:
        before, after = self.before, self.after
        if before is None or after is None:
            yield "new in the list" if before is None else "no longer in the list"
            return
        if before.verdict != after.verdict:
            yield f"was {before.verdict}, now {after.verdict}"
        for what, was, now in (
            ("rent", before.rent_usd, after.rent_usd),
            ("buying", before.buy_usd, after.buy_usd),
            ("days", before.days, after.days),
        ):
            if (text := _moved(what, was, now)) is not None:
                yield text


def _moved(what: str, was: float | None, now: float | None) -> str | None:
    def shown(figure: float | None) -> str:
        return "unknown" if figure is None else f"{figure:.2g}" if what == "days" else f"${figure:,.0f}"

    if was is None or now is None:
        return None if was is now else f"{what}: {shown(was)} before, {shown(now)} now"
    if abs(now - was) <= NOTICED * was:
        return None
    return f"{what}: {shown(was)} before, {shown(now)} now ({now / was - 1:+.0%})"


def compare(before: Iterable[Answer], after: Iterable[Answer]) -> tuple[Change, ...]:
    """In today's order; what dropped out comes last."""
    old = {(each.device, each.gpus): (place, each) for place, each in enumerate(before, 1)}
    changes = []
    for place, each in enumerate(after, 1):
        was, found = old.pop((each.device, each.gpus), (None, None))
        changes.append(Change(found, each, (was, place)))
    changes += [Change(each, None, (place, None)) for place, each in old.values()]
    return tuple(changes)
