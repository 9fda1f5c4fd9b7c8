"""Bytes as people write them. Inside the program bytes are `int`; conversion happens only at the edges."""

import re

from planner_app.errors import PlannerError

BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
DECIMAL = ("B", "KB", "MB", "GB", "TB", "PB", "EB")
FACTORS: dict[str, int] = {
    name.lower(): base**power for base, names in ((1024, BINARY), (1000, DECIMAL)) for power, name in enumerate(names)
}
MOST_BYTES = 10**30  # upper limit for what a log or a file may claim; fits into a float
MOST_DIGITS = 18  # of a count: it fits into 64 bits; Python itself refuses to read more than 4300
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE | re.ASCII)


def count_of(text: str) -> int:
    """A positive integer in digits; 0 for anything else, also for one so long that nothing can be counted by it."""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else 0


def format_bytes(count: int) -> str:
    """Three significant digits: 512 B, 97.8 MiB, 1.02 GiB."""
    power, size = 0, float(max(-MOST_BYTES, min(count, MOST_BYTES)))
    while abs(size) >= 999.5 and power < len(BINARY) - 1:
        size, power = size / 1024, power + 1
    if power == 0 or abs(size) >= 99.95:
        return f"{size:.0f} {BINARY[power]}"
    return f"{size:.1f} {BINARY[power]}" if abs(size) >= 9.995 else f"{size:.2f} {BINARY[power]}"


def parse_bytes(text: str) -> int:
    """`8GiB`, `500 MB`, `1.5gib`, `1073741824`."""
    match = _SIZE.fullmatch(text)
    unit = (match.group(2) or "B").lower() if match else ""
    if match is None or unit not in FACTORS:
        raise PlannerError(
            f"{text!r} is not an amount of memory: expected a number with a unit, such as 8GiB or 500MB."
        )
    return round(min(float(match.group(1)), MOST_BYTES) * FACTORS[unit])
