"""Spans of time as a reader thinks of them."""

from planner_app.core.buying.run import DAY

YEAR = 365.25 * DAY


def days(seconds: float) -> str:
    """In seconds, minutes, hours, days or years, whichever fits."""
    if seconds < 3600:
        return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s" if seconds >= 1 else "less than 1 s"
    if seconds >= 2 * YEAR:
        return f"{seconds / YEAR:,.1f} years" if seconds < 1000 * YEAR else f"{seconds / YEAR:,.0f} years"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * DAY else f"{seconds / DAY:.1f} days"
