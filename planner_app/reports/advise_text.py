"""`Advice` as text: each option with its memory before and after, its speed and its code."""

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from planner_app.core.advise import Advice, Option
from planner_app.core.advise.pace import pace, source
from planner_app.core.estimate.verdict import Verdict
from planner_app.reports.verdict_text import STYLES
from planner_app.units import format_bytes


def show(advice: Advice, console: Console) -> None:
    setup, limit = advice.request.setup, format_bytes(advice.limit_bytes or 0)
    where = f"{advice.request.device.name} with a batch of {setup.batch}"
    verdict = advice.verdict or Verdict.DOES_NOT_FIT
    peak = f"{format_bytes(advice.before_bytes)} expected, of {limit}"
    said = {
        Verdict.FITS: f"It fits {where} as it is: {peak}.",
        Verdict.TIGHT: f"It is tight on {where}: {peak}, but the high end of the band does not fit.",
        Verdict.DOES_NOT_FIT: f"It does not fit {where}: {peak}.",
    }
    console.print(Text(said[verdict], style=f"bold {STYLES[verdict]}"))
    if verdict is not Verdict.FITS:
        if not advice.options:
            console.print(Text("No change that was tried makes it fit."))
        for number, option in enumerate(advice.options, start=1):
            _option(number, option, console)
        if advice.helpful:
            console.print(Text("\nThese help, but are not enough by themselves", style="bold"))
            for option in advice.helpful:
                console.print(Text(f"- {option.changes[0].text}: {_memory(option)}"))
    _hints(advice, console)


class SoFar:
    """Ways that were found while others are still being traced, each told once."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell, self._told = tell, set[str]()

    def __call__(self, advice: Advice) -> None:
        for option in advice.options:
            way = "; ".join(change.text for change in option.changes)
            if way not in self._told:
                self._told.add(way)
                self._tell(f"so far: {option.verdict}: {way} ({_memory(option)})\n")


def _hints(advice: Advice, console: Console) -> None:
    for hint in advice.hints:
        console.print(Text(f"\n- {hint.text}"))
        _code(hint.code, console)
    if advice.calibrated:
        console.print(Text(f"\n{advice.calibrated}", style="dim"))


def _option(number: int, option: Option, console: Console) -> None:
    title = Text(f"\n{number}. ", style="bold")
    title.append("; ".join(change.text for change in option.changes) + ".")
    console.print(title)
    console.print(Text(f"   {option.verdict}: {_memory(option)}{_pace(option)}", style=STYLES[option.verdict]))
    if option.largest is not None and option.largest != option.setup.batch:
        console.print(Text(f"   Up to {option.largest} is tight.", style="dim"))
    for change in option.changes:
        _code(change.code, console)
    for change in option.changes:
        if change.caveat:
            console.print(Text(f"   {change.caveat}", style="dim"))


def _memory(option: Option) -> str:
    after = format_bytes(option.after_bytes)
    return f"{format_bytes(option.before_bytes)} before, {after} after, of {format_bytes(option.limit_bytes)}"


def _pace(option: Option) -> str:
    known = f" ({source(option)})" if source(option) else ""
    return f"; {pace(option)}{known}" if pace(option) else ""


def _code(lines: tuple[str, ...], console: Console) -> None:
    for line in lines:
        console.print(Text(f"       {line}", style="cyan"))
