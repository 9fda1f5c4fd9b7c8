"""Offers as a table: best first, why the others don't fit, and notes on the figures."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.core.hardware import achieved
from planner_app.core.hardware.option import Later, Offers, Option, ShopRequest
from planner_app.core.hardware.prices import Cost
from planner_app.core.hardware.refusal import short_name
from planner_app.reports.buying.shop_rows import UNKNOWN, format_usd, later_text, pace_band, pace_text
from planner_app.units import format_bytes

NARROW, WIDE = 110, 140  # on fewer columns the less important figures are left out
WIDEST_NAME = 22  # longer names are folded
MOST_REASONS = 12
MOST_NAMES = 6


def show(
    request: ShopRequest,
    offers: Offers,
    shown: Sequence[Option],
    kept: int,
    front: Sequence[Option],
    console: Console,
    later: Sequence[Later] = (),
) -> None:
    console.print(_title(request, offers, kept))
    if shown:
        console.print(_table(shown, front, console.width))
    for line in (*_notes(shown), *_legend(shown, front)):
        console.print(line)
    for number, each in enumerate(later):
        console.print(Text(("" if number else "\n") + later_text(each)))
    console.print(_reasons(offers))


def _title(request: ShopRequest, offers: Offers, kept: int) -> Text:
    counts = (
        f"{request.counts[0]} GPU" if len(request.counts) == 1 else f"{request.counts[0]} to {request.counts[-1]} GPUs"
    )
    precisions = " or ".join(map(str, request.precisions))
    tried = len(offers.options) + len(offers.refusals)
    style = "bold" if kept else "bold red"
    text = Text(f"{kept or 'None'} of {tried:,} offers fit", style=style)
    text.append(
        f": {request.setup.batch} samples per update, {precisions}, {request.setup.optimizer}, ", style="not bold"
    )
    text.append(f"{counts} of each kind", style="not bold")
    if kept < len(offers.options):
        text.append(f"; {len(offers.options) - kept:,} more are outside your limits", style="not bold")
    return text.append("\n")


def _table(shown: Sequence[Option], front: Sequence[Option], columns: int) -> Table:
    wide, wider = columns >= NARROW, columns >= WIDE
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("device", overflow="fold", min_width=WIDEST_NAME if wide else 0)
    steps = any(option.setup.accumulate > 1 for option in shown)
    for title in ("GPUs", "each", *(["steps"] * steps), "needs", "gives", "an hour", "to buy"):
        table.add_column(title, justify="right", no_wrap=True)
    several = len({option.setup.precision for option in shown}) > 1
    speeds = ["samples/s", *(["from - to"] * wider)]
    for title in (*(["watts"] * wide), *speeds, *(["$/million"] * (wide and not several))):
        table.add_column(title, justify="right", no_wrap=True)
    if several:
        table.add_column("precision", no_wrap=True, style="dim")
    for option in shown:
        setup, mark = option.setup, "~" if option.device.total_is_derived else ""
        cells = [str(setup.gpus), str(setup.per_gpu_batch), *([str(setup.accumulate)] * steps)]
        cells += [format_bytes(option.level.peak_bytes), mark + format_bytes(option.limit_bytes)]
        cells += [_usd(option.hour), _usd(option.buy)]
        rest = [UNKNOWN if option.watts is None else f"{option.watts:,}"] * wide + [pace_text(option)]
        rest += [pace_band(option).replace(" to ", " - ")] * wider
        if wide and not several:
            million = option.usd_per_million_samples
            rest.append(UNKNOWN if million is None else f"{million:,.3g}")
        best = "*" if any(option is each for each in front) else ""
        table.add_row(best, Text(short_name(option.device)), *cells, *rest, *([str(setup.precision)] * several))
    return table


def _usd(cost: Cost | None) -> str:
    if cost is None:
        return UNKNOWN
    return format_usd(cost.usd) + (" old" if cost.old else "")


def _notes(shown: Sequence[Option]) -> list[Text]:
    about: dict[str, dict[str, None]] = {}
    for option in shown:
        for note in option.notes:
            about.setdefault(note, {})[short_name(option.device)] = None
    lines = [Text()]
    for note, names in about.items():
        listed = ", ".join(list(names)[:MOST_NAMES]) + (" ..." if len(names) > MOST_NAMES else "")
        lines.append(Text(f"! {note}: {listed}", style="yellow"))
    return lines if about else []


def _legend(shown: Sequence[Option], front: Sequence[Option]) -> list[Text]:
    if not shown:
        return []
    lines = [
        "needs: at the peak on each GPU; gives: what TensorFlow gets of it. Estimates, not yet compared with a GPU.",
        "samples/s: expected (~), from data sheets and what published trainings reached of them: nine of ten lie "
        f"within {achieved.SLOWEST:g} to {achieved.FASTEST:g} times it, of new generations within "
        f"{achieved.SLOWEST_UNSEEN:g} to {achieved.FASTEST_UNSEEN:g}.",
        "prices: cards alone and as published, or an hour on demand; old: more than 90 days old, or without a date.",
        "--samples N --epochs N: what the whole run takes, rented or bought.",
    ]
    if any(option.on_jax for option in shown):
        lines.insert(2, "JAX: the model's own code must use Keras' operations; --backend tensorflow leaves JAX out.")
    if any(option is each for option in shown for each in front):
        lines.insert(0, "*: nothing else is both as cheap and as fast")
    return [Text(line, style="dim") for line in lines]


def _reasons(offers: Offers) -> Text:
    reasons = offers.why_not()
    text = Text()
    if reasons:
        text.append(f"\n{len(reasons)} kinds of GPU don't fit it in any number:\n", style="bold")
    for refusal in reasons[:MOST_REASONS]:
        text.append(f"  {short_name(refusal.device)}: {refusal.sentence}\n", style="not bold")
    if len(reasons) > MOST_REASONS:
        text.append(f"  {len(reasons) - MOST_REASONS} more: --json lists all\n", style="dim")
    return text
