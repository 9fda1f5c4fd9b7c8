"""How a change affects speed, in words."""

from planner_app.core.advise.values import Option

ABOUT_THE_SAME = 0.05
ROOFLINE = "roofline estimate"


def pace(option: Option) -> str:
    """How much longer a sample takes; "" if unknown."""
    if option.slower is None:
        more = option.more_arithmetic
        return "" if more is None or abs(more - 1) <= ABOUT_THE_SAME else f"{more:.2f} times the arithmetic"
    if abs(option.slower - 1) <= ABOUT_THE_SAME:
        return "about as fast"
    if option.slower < 1:
        return f"{1 / option.slower:.1f} times as fast"
    return f"takes {option.slower:.1f} times as long"


def source(option: Option) -> str:
    """Where the figure comes from."""
    return "" if option.slower is None else ROOFLINE
