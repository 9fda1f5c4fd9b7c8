"""What the page says: the question, the answer, alternatives, costs over time, risks and sources. Plain values."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from math import inf

from planner_app import __version__
from planner_app.core.buying.run import DAY, InTime, Proposal, Run, ranked, safe
from planner_app.core.buying.scenario import Change
from planner_app.core.hardware.option import Option, ShopRequest
from planner_app.core.hardware.prices import Cost, Pay
from planner_app.core.hardware.refusal import short_name
from planner_app.core.hardware.roofline import Source
from planner_app.reports.buying.shop_rows import UNKNOWN, format_rate, format_usd, pace_text
from planner_app.reports.signing.drawing import Mark, Series, Shape, lines, scatter
from planner_app.reports.signing.risks import risks
from planner_app.reports.signing.sources import sources
from planner_app.reports.signing.spans import days
from planner_app.units import format_bytes

ALTERNATIVES = 3
NAMED = 12  # dots with a name; more would overlap
CHANGES = 3
HEADINGS = ("machine", "memory", "samples/s", "a run", "rent, all runs", "buy, all runs", "buying pays after")


@dataclass(frozen=True, slots=True)
class Page:
    """Attributes:
    rows: The answer first, then the alternatives, in the order of `HEADINGS`.
    tradeoff: Cost over days; empty if there is nothing to compare.
    over_time: Cost over the number of runs, renting and buying.
    changes: Since the scenario was kept; empty for a new one.
    """

    title: str
    made: str
    question: tuple[str, ...]
    answer: str
    grounds: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tradeoff: tuple[Shape, ...]
    over_time: tuple[Shape, ...]
    risks: tuple[str, ...]
    legend: tuple[str, ...]
    sources: tuple[str, ...]
    changes: tuple[str, ...] = ()


def page(
    model: str,
    request: ShopRequest,
    run: Run,
    proposals: Sequence[Proposal],
    today: date,
    changes: Sequence[Change] = (),
    since: str = "",
    nearest: str = "",
) -> Page:
    """`nearest` says why the device that comes nearest to fitting does not fit."""
    chosen, others = choose(proposals, sure=request.sure)
    shown = [each for each in (chosen, *others) if each is not None]
    bought = first_to_pay(chosen, ranked(proposals, sure=request.sure)) if chosen else None
    return Page(
        title=f"Hardware to train {model}",
        made=f"{today.isoformat()}, by plimsoll {__version__}. Estimates: nothing was run.",
        question=tuple(_question(request, run)),
        answer=_answer(chosen, run) if proposals or not nearest else "Nothing that is known fits the training.",
        grounds=tuple(_grounds(chosen, bought)) if chosen else (_why_none(proposals, run, nearest),),
        rows=tuple(_row(each) for each in shown),
        tradeoff=tuple(_tradeoff(proposals, shown)),
        over_time=tuple(_over_time(chosen, bought, run)) if chosen else (),
        risks=tuple(risks(chosen)) if chosen else (),
        legend=tuple(legend(shown)),
        sources=tuple(sources(shown)),
        changes=tuple(_changed(changes, since)),
    )


def choose(proposals: Sequence[Proposal], *, sure: bool = False) -> tuple[Proposal | None, list[Proposal]]:
    """The cheapest that needs no luck, else the cheapest; and other kinds of device: cheaper, faster, next."""
    good = ranked(proposals, sure=sure)
    chosen = next((each for each in good if safe(each) and each.usd is not None), good[0] if good else None)
    if chosen is None:
        return None, []
    kinds = {chosen.option.device.name}
    others: list[Proposal] = []
    priced = [each for each in good if each.usd is not None]
    fastest = min(priced, key=lambda each: each.seconds, default=chosen)
    to_buy = first_to_pay(chosen, good)
    for each in (*good[:1], *([to_buy] if to_buy else []), fastest, *priced, *good):
        if each.option.device.name not in kinds and len(others) < ALTERNATIVES:
            kinds.add(each.option.device.name)
            others.append(each)
    return chosen, others


def first_to_pay(chosen: Proposal, proposals: Sequence[Proposal]) -> Proposal | None:
    """What to buy instead of renting the answer: of what needs no luck, what pays first; else the cheapest."""
    if chosen.buy_usd is not None:
        return chosen
    priced = [each for each in proposals if each.buy_usd is not None]
    return min(priced, key=lambda each: (not safe(each), _even(chosen, each) or inf, each.buy_usd or 0.0), default=None)


def called(of: Proposal) -> str:
    return f"{of.option.gpus} x {short_name(of.option.device)}"


def _question(request: ShopRequest, run: Run) -> Iterator[str]:
    setup = request.setup
    epochs = "1 epoch" if run.epochs == 1 else f"{run.epochs:,} epochs"
    each = f"{run.samples:,} samples, {epochs}, {setup.batch:,} samples an update"
    optimizer = "the model's own optimizer" if str(setup.optimizer) == "own" else str(setup.optimizer)
    often = f"{run.runs:,} times" if run.runs > 1 else "once"
    yield f"Train it {often}: {each}, {optimizer}, {' or '.join(map(str, request.precisions))}"
    limits = []
    if run.deadline_seconds is not None:
        limits.append(f"a run in {days(run.deadline_seconds)}")
    if run.budget_usd is not None:
        limits.append(f"{format_usd(run.budget_usd)} for all of it")
    if run.power_usd_per_kwh:
        limits.append(f"electricity at {format_usd(run.power_usd_per_kwh)} a kWh")
    if run.pay is not None:
        limits.append("rented only" if run.pay is Pay.CLOUD else "bought only")
    if limits:
        yield "Limits: " + ", ".join(limits)
    host = [f"{format_bytes(run.host_bytes)} of host memory for the input pipeline"] if run.host_bytes else []
    host += [f"{format_bytes(run.data_bytes)} on disk"] if run.data_bytes else []
    if host:
        yield "Data: " + ", ".join(host)


def _answer(chosen: Proposal | None, run: Run) -> str:
    if chosen is None:
        return "Nothing that is known meets the limits."
    cost = UNKNOWN if chosen.usd is None else format_usd(chosen.usd)
    if chosen.pay is Pay.BUY:
        bought = chosen.buy
        into = f" in a {bought.chassis.name}" if bought and bought.chassis else ""
        return f"Buy {called(chosen)}{into}: {cost} for {_runs(run)}, {days(chosen.seconds)} each"
    if chosen.pay is None:
        return f"{called(chosen)}, at an unknown price: {days(chosen.seconds)} a run"
    machine = chosen.rent.machine if chosen.rent else None
    where = f" ({machine.provider} {machine.name})" if machine else ""
    return f"Rent {called(chosen)}{where}: {cost} for {_runs(run)}, {days(chosen.seconds)} each"


def _runs(run: Run) -> str:
    return f"{run.runs:,} runs" if run.runs > 1 else "one run"


def _grounds(of: Proposal, bought: Proposal | None) -> Iterator[str]:
    """`bought` is what to buy instead of renting it."""
    option, speed, run = of.option, of.option.speed, of.run
    limit, peak = format_bytes(option.limit_bytes), format_bytes(option.level.peak_bytes)
    band = f"{format_bytes(option.level.low_bytes)} to {format_bytes(option.level.high_bytes)}"
    backend = option.setup.backend.label
    yield f"It {option.verdict}: each GPU needs {peak} ({band}) of the {limit} that {backend} gets of it"
    if speed is not None:
        about = "measured" if speed.source is Source.MEASURED else "expected"
        span = f"{format_rate(speed.low_samples_per_second)} to {format_rate(speed.high_samples_per_second)}"
        took = f"{days(of.low_seconds)} to {days(of.high_seconds)}"
        pace = f"{format_rate(speed.samples_per_second)} samples a second {about}"
        yield f"{pace} ({span}): a run takes {took}" if speed.source is Source.ROOFLINE else pace
    if run.runs > 1:
        yield f"All {_runs(run)} on one machine, one after the other: {days(of.seconds * run.runs)}"
    if option.on_jax:
        yield _on_jax(option)
    if of.kwh is not None:
        own = of.run.power_usd_per_kwh and of.buy is not None
        cost = f", {format_usd(of.kwh * of.run.power_usd_per_kwh)} if bought" if own else ""
        energy = f"{of.kwh:,.0f}" if of.kwh >= 10 else f"{of.kwh:.2g}"
        yield f"Energy of a run: {energy} kWh{cost}"
    if of.buy_usd is not None:
        if of.even_after is not None:
            yield f"Buying pays {_from_run(of.even_after)}"
    elif bought is not None and of.rent is not None:
        even = _even(of, bought)
        if even is None:
            yield "No price to buy it is known, and nothing that has one ever pays"
        else:
            yield f"No price to buy it is known. Of what has one, {called(bought)} pays first: {_from_run(even)}"


def _from_run(even: float) -> str:
    return f"from run {even:,.0f} on" if even >= 1 else "from the first run"


def _on_jax(option: Option) -> str:
    other = option.on_tensorflow
    instead = "it does not fit" if other is None else f"{format_rate(other.samples_per_second)} are expected"
    return f"That is with Keras on JAX, which compiles for several GPUs; on TensorFlow {instead}"


def _why_none(proposals: Sequence[Proposal], run: Run, nearest: str) -> str:
    if not proposals and nearest:
        return f"The nearest: {nearest}"
    if not proposals:
        return "Nothing that fits the training has a known speed and is of the kind, power and price asked for"
    quickest = min(proposals, key=lambda each: each.seconds)
    if run.deadline_seconds is not None and quickest.seconds > run.deadline_seconds:
        return f"The fastest that fits, {called(quickest)}, takes {days(quickest.seconds)}"
    known = [each for each in proposals if each.usd is not None and each.in_time is not InTime.NO]
    if known:
        least = min(known, key=lambda each: each.usd or 0.0)
        return f"The cheapest in time, {called(least)}, costs {format_usd(least.usd or 0.0)}"
    return "No price is known of what is in time: import quotes (plimsoll devices --import-prices)"


def _row(of: Proposal) -> tuple[str, ...]:
    option, even = of.option, of.even_after
    return (
        called(of),
        f"{option.verdict}, {format_bytes(option.level.peak_bytes)} of {format_bytes(option.limit_bytes)}",
        pace_text(option).lstrip("~"),
        days(of.seconds),
        _dollars(of.rent_usd, of.rent.hour if of.rent else None),
        _dollars(of.buy_usd, of.buy.cards if of.buy else None),
        "-" if even is None else "1 run" if even <= 1 else f"{even:,.0f} runs" if even < 1e5 else "never",
    )


def _dollars(usd: float | None, cost: Cost | None) -> str:
    return UNKNOWN if usd is None else format_usd(usd) + (" old" if cost and cost.old else "")


def _tradeoff(proposals: Sequence[Proposal], shown: Sequence[Proposal]) -> list[Shape]:
    first = {id(each) for each in shown[:1]}
    named = {id(each) for each in shown}
    known = [each for each in _unbeaten(ranked(proposals)) if each.usd is not None and each.usd > 0]
    known += [each for each in shown if each.usd and not any(each is other for other in known)]
    order = sorted(known, key=lambda each: (id(each) not in first, id(each) not in named))
    marks = [
        Mark(
            each.seconds / DAY,
            each.usd or 1.0,
            called(each) if id(each) in named or number < NAMED else "",
            "chosen" if id(each) in first else "other" if id(each) in named else "dot",
        )
        for number, each in enumerate(order)
    ]
    return scatter(marks, ("days a run", "dollars, all runs"), (lambda x: f"{x:g}", _short))


def _unbeaten(proposals: Sequence[Proposal]) -> list[Proposal]:
    """The cheapest of every kind of device, and whatever is faster than all that is cheaper."""
    kinds: set[str] = set()
    found, quickest = [], float("inf")
    for each in proposals:
        if each.option.device.name not in kinds or each.seconds < quickest:
            kinds.add(each.option.device.name)
            found.append(each)
        quickest = min(quickest, each.seconds)
    return found


def _over_time(chosen: Proposal, bought: Proposal | None, run: Run) -> list[Shape]:
    """Renting the answer against buying it or, where it has no price to buy, what pays first of what has one."""
    even = _even(chosen, bought)
    most = max(run.runs, 2 * (even or 1) if even is not None and even < 20 * run.runs else run.runs, 2)
    series = []
    if chosen.rent is not None:
        rented = chosen.rent.usd_a_run * most
        series.append(Series(f"rent {called(chosen)}", ((0.0, 0.0), (most, rented)), "rent"))
    if bought is not None and bought.buy is not None and bought.buy.usd is not None:
        last = bought.buy.usd + bought.buy.energy_usd_a_run * most
        name = f"buy {called(bought)}, with energy"
        series.append(Series(name, ((0.0, bought.buy.usd), (most, last)), "buy"))
    planned = run.runs if run.runs > 1 else None
    return lines(series, ("runs", "dollars so far"), (lambda x: f"{x:g}", _short), even, planned)


def _even(rented: Proposal, bought: Proposal | None) -> float | None:
    """Runs after which buying the one costs less than renting the other."""
    if rented.rent is None or bought is None or bought.buy is None or bought.buy.usd is None:
        return None
    saved = rented.rent.usd_a_run - bought.buy.energy_usd_a_run
    return bought.buy.usd / saved if saved > 0 else None


def _short(usd: float) -> str:
    if usd >= 1e6:
        return f"${usd / 1e6:g}M"
    return f"${usd / 1e3:g}k" if usd >= 1e3 else f"${usd:g}"


def legend(shown: Sequence[Proposal]) -> Iterator[str]:
    costs = [each.rent.hour for each in shown if each.rent]
    costs += [each.buy.cards for each in shown if each.buy and each.buy.usd is not None]
    if any(cost.old for cost in costs):
        yield "old: the price is more than 90 days old, or has no date"
    if any(each.option.on_jax for each in shown):
        yield "JAX: with Keras on JAX, where the model's own code must use Keras' operations, none of TensorFlow's"
    if any(each.option.speed and each.option.speed.at_least for each in shown):
        yield ">: at least, as a figure of the device is unknown"


def _changed(changes: Sequence[Change], since: str) -> Iterator[str]:
    told: Iterable[Change] = [each for each in changes if each.sentences and (each.before or each.after)]
    for each in list(told)[:CHANGES]:
        answer = each.after or each.before
        if answer is not None:
            yield f"Since {since}, {answer.gpus} x {answer.device.removeprefix('NVIDIA ')}: {'; '.join(each.sentences)}"
