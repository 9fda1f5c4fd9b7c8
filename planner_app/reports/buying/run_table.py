"""The whole run on the terminal: what to rent or to buy, cheapest first, and why the rest is out."""

from collections.abc import Sequence
from datetime import date

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.core.buying.run import InTime, Proposal, Run
from planner_app.core.buying.scenario import Change
from planner_app.core.hardware.option import ShopRequest
from planner_app.core.hardware.prices import Cost
from planner_app.reports.buying.shop_rows import UNKNOWN, format_usd, pace_text
from planner_app.reports.signing.page import called, legend, page
from planner_app.reports.signing.spans import days

NARROW = 170  # on fewer columns it is left out from whom, and into what
MOST_CHANGES = 10


def show_run(
    model: str,
    request: ShopRequest,
    run: Run,
    proposals: Sequence[Proposal],
    listed: Sequence[Proposal],
    console: Console,
    changes: Sequence[Change] = (),
    since: str = "",
    nearest: str = "",
) -> None:
    """`listed` are those to show, best first."""
    made = page(model, request, run, proposals, date.today(), changes, since, nearest)
    for line in made.question:
        console.print(Text(f"{line}."))
    console.print(Text(f"\n{made.answer}", style="bold" if listed else "bold red"))
    for line in made.grounds:
        console.print(Text(f"  {line}.", style="not bold"))
    if listed:
        console.print()
        console.print(_table(listed, run, wide=console.width >= NARROW))
    for risk in made.risks:
        console.print(Text(f"! {risk}.", style="yellow"))
    if any(each.in_time is InTime.LIKELY for each in listed):
        console.print(Text("?: too late at the slow end of the speed's band.", style="dim"))
    for line in legend(listed):
        console.print(Text(f"{line}.", style="dim"))
    for line in _left(proposals):
        console.print(Text(line, style="dim"))
    if since:
        _show_changes(changes, since, console)


def _table(listed: Sequence[Proposal], run: Run, *, wide: bool) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("machine", overflow="fold", vertical="bottom")
    all_runs = f"{run.runs:,} runs" if run.runs > 1 else "the run"
    titles = ["memory", "samples/s", "a run", f"rent for\n{all_runs}", f"buy for\n{all_runs}", "buying\npays after"]
    titles += ["kWh a run", "rented from", "bought into"] if wide else []
    for title in titles:
        left = title in ("memory", "rented from", "bought into")
        table.add_column(title, justify="left" if left else "right", no_wrap=True)
    for of in listed:
        even = of.even_after
        late = "?" if of.in_time is InTime.LIKELY else ""
        cells = [
            str(of.option.verdict),
            pace_text(of.option),
            days(of.seconds) + late,
            _usd(of.rent_usd, of.rent.hour if of.rent else None),
            _usd(of.buy_usd, of.buy.cards if of.buy else None),
            "-" if even is None else "1 run" if even <= 1 else f"{even:,.0f} runs",
        ]
        if wide:
            machine = of.rent.machine if of.rent else None
            cells += [
                UNKNOWN if of.kwh is None else f"{of.kwh:,.0f}",
                f"{machine.provider} {machine.name}" if machine else of.rent.hour.price.source if of.rent else "-",
                of.buy.chassis.name if of.buy and of.buy.chassis else "-",
            ]
        table.add_row(called(of), *cells)
    return table


def _usd(usd: float | None, cost: Cost | None) -> str:
    return UNKNOWN if usd is None else format_usd(usd) + (" old" if cost and cost.old else "")


def _left(proposals: Sequence[Proposal]) -> list[str]:
    late = sum(each.in_time is InTime.NO for each in proposals)
    dear = sum(each.in_time is not InTime.NO and not each.in_budget for each in proposals)
    unpriced = sum(each.buy is None for each in proposals)
    said = []
    if late:
        said.append(f"{late:,} offers fit but are too late.")
    if dear:
        said.append(f"{dear:,} more cost more than the budget, or have no price.")
    if unpriced:
        said.append(
            f"{unpriced:,} have no price to buy, or no machine that takes them: import quotes (plimsoll devices "
            "--import-prices), or count --launch-prices or --used."
        )
    said.append("Prices are of whole machines on demand, or of cards and a machine.")
    return said


def _show_changes(changes: Sequence[Change], since: str, console: Console) -> None:
    console.print(Text(f"\nSince {since}:", style="bold"))
    told = [each for each in changes if each.sentences]
    for change in told[:MOST_CHANGES]:
        answer = change.after or change.before
        if answer is not None:
            name = answer.device.removeprefix("NVIDIA ").removeprefix("GeForce ")
            console.print(Text(f"  {answer.gpus} x {name}: {'; '.join(change.sentences)}"))
    if not told:
        console.print(Text("  nothing has changed by more than 5 %"))
