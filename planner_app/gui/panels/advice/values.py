"""The advice panel as plain values: the request, and a row for each change."""

from dataclasses import dataclass
from enum import StrEnum

from planner_app.core.advise import Advice, Hint, Option
from planner_app.core.advise.pace import pace, source
from planner_app.core.estimate.verdict import Verdict
from planner_app.core.hardware.device import Device
from planner_app.core.model.setup import Setup
from planner_app.gui.panels.breakdown.values import setup_text
from planner_app.units import format_bytes


class Use(StrEnum):
    FITS = "makes it fit"
    TIGHT = "makes it fit, but tight"
    HELPS = "helps, but not enough alone"
    TIP = "tip, not part of a setup"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing to do.

    Attributes:
        rank: "1" for the cheapest; a word for what is not enough by itself.
        share: Memory after it, of the memory before it.
        speed: Against the speed before; a roofline estimate where `speed_source` says so.
        setup, device: What Apply chooses; None if a setup can't express it.
    """

    use: Use
    rank: str
    text: str
    after: str = ""
    saves: str = ""
    memory: str = ""
    share: float = 0.0
    speed: str = ""
    speed_source: str = ""
    code: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    setup: Setup | None = None
    device: Device | None = None


@dataclass(frozen=True, slots=True)
class AdviceValues:
    """Attributes:
    asked: What the list is for.
    note: The state of the list: out of date, or not available yet.
    applied: The row of the chosen setup.
    """

    asked: str = ""
    note: str = ""
    rows: tuple[Row, ...] = ()
    applied: int | None = None
    stale: bool = False


def rows_of(advice: Advice) -> tuple[Row, ...]:
    if advice.verdict is Verdict.FITS:
        return (_as_it_is(advice),)
    found = [_row(option, _use(option), str(number), advice) for number, option in enumerate(advice.options, start=1)]
    found += [_row(option, Use.HELPS, "helps", advice) for option in advice.helpful]
    return (*found, *map(_tip, advice.hints))


def _use(option: Option) -> Use:
    return Use.FITS if option.verdict is Verdict.FITS else Use.TIGHT


def asked_text(advice: Advice) -> str:
    request = advice.request
    return f"{setup_text(request.setup)}, {request.device.name}"


def applied_row(rows: tuple[Row, ...], setup: Setup, device: Device) -> int | None:
    """The row whose setup is chosen."""
    return next((n for n, row in enumerate(rows) if (row.setup, row.device) == (setup, device)), None)


def _as_it_is(advice: Advice) -> Row:
    request, limit = advice.request, advice.limit_bytes or 0
    return Row(
        use=Use.FITS,
        rank="1",
        text=f"Change nothing: a batch of {request.setup.batch:,} fits as it is",
        after=format_bytes(advice.before_bytes),
        memory=f"{format_bytes(advice.before_bytes)} of {format_bytes(limit)}",
        share=min(advice.before_bytes / limit, 1.0) if limit else 0.0,
        setup=request.setup,
        device=request.device,
    )


def _row(option: Option, use: Use, rank: str, advice: Advice) -> Row:
    before, after = format_bytes(option.before_bytes), format_bytes(option.after_bytes)
    changed = (option.setup, option.device) != (advice.request.setup, advice.request.device)
    return Row(
        use=use,
        rank=rank,
        text="; ".join(change.text for change in option.changes),
        after=after,
        saves=f"{option.saved_bytes / option.before_bytes:.0%}".replace("%", " %") if option.saved_bytes > 0 else "",
        memory=f"{option.verdict}: {before} before, {after} after, of {format_bytes(option.limit_bytes)}",
        share=min(option.after_bytes / option.before_bytes, 1.0),
        speed=pace(option),
        speed_source=source(option),
        code=tuple(line for change in option.changes for line in change.code),
        caveats=tuple(change.caveat for change in option.changes if change.caveat),
        setup=option.setup if changed else None,
        device=option.device if changed else None,
    )


def _tip(hint: Hint) -> Row:
    return Row(use=Use.TIP, rank="tip", text=hint.text.rstrip("."), code=hint.code)
