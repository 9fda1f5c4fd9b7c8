"""The verdict in words and colours, the same everywhere."""

from rich.text import Text

from planner_app.core.estimate.level import Level
from planner_app.core.estimate.verdict import Verdict
from planner_app.units import format_bytes

STYLES = {Verdict.FITS: "green", Verdict.TIGHT: "yellow", Verdict.DOES_NOT_FIT: "red"}


def verdict_words(verdict: Verdict, level: Level, capacity_bytes: int) -> str:
    """The verdict and its margin."""
    if verdict is Verdict.FITS:
        return f"fits, {format_bytes(capacity_bytes - level.high_bytes)} to spare at the high end"
    if verdict is Verdict.TIGHT:
        spare, short = capacity_bytes - level.peak_bytes, level.high_bytes - capacity_bytes
        return f"tight: {format_bytes(spare)} to spare as expected, {format_bytes(short)} short at the high end"
    return f"does not fit, {format_bytes(level.peak_bytes - capacity_bytes)} short"


def verdict_text(verdict: Verdict, level: Level, capacity_bytes: int) -> Text:
    return Text(verdict_words(verdict, level, capacity_bytes), style=f"bold {STYLES[verdict]}")
