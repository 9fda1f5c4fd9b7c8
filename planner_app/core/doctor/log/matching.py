"""How a line is recognised, in time that grows with its length and no faster.

A rule has a mark, plain text that the line must hold (most lines of most logs hold none and cost nothing), and a
pattern that must match where the mark stands, without going back over what it has read: repetitions are bounded or
possessive. Prefixes (time, level, file) changed with every release: they are not read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from planner_app.core.doctor.log.quoting import REACH, is_quoted
from planner_app.units import MOST_BYTES

Found = Mapping[str, str | None]

MOST_PLACES = 4  # of one line where a mark is tried
# HumanReadableNumBytes; CuPy writes "1,024 bytes", numpy "184. MiB"; "10.76G" was StreamExecutor's spelling until
# 2.16, and is TPUs' still.
_SIZE = (
    r"(?P<{0}>\d{{1,3}}(?:,\d{{3}}){{1,6}}+(?![,\d])|\d{{1,20}}+(?:\.\d{{1,9}}+|\.(?= [kKMGTPE]))?+)"
    r"(?: ?(?P<{0}_unit>[kKMGTPE]?i?B(?![a-z])|[KMGTPE](?![a-zA-Z])|[Bb]ytes?+))?+"
)
_FACTORS: dict[str, int] = {"": 1, "B": 1, **{unit: 1024**power for power, unit in enumerate("KMGTPE", start=1)}}


@dataclass(frozen=True, slots=True)
class Rule:
    """One spelling of one kind of line.

    Attributes:
        after: Matched where the mark begins.
        before: Must be found in what stands before the mark, as far as `REACH`.
        given: What the mark itself tells.
        quotable: Texts about failures hold these words, too: there they count for nothing.
    """

    name: str
    mark: str
    after: re.Pattern[str]
    before: re.Pattern[str] | None = None
    given: Found = field(default_factory=dict)
    quotable: bool = False

    def find(self, text: str) -> Found | None:
        place = text.find(self.mark)
        for _ in range(MOST_PLACES):
            if place < 0:
                return None
            if (found := self.after.match(text, place)) and not (self.quotable and is_quoted(text, place, found.end())):
                if self.before is None:
                    return {**found.groupdict(), **self.given}
                if earlier := self.before.search(text[max(0, place - REACH) : place]):
                    return {**earlier.groupdict(), **found.groupdict(), **self.given}
            place = text.find(self.mark, place + 1)
        return None


def rule(name: str, mark: str, after: str = "", before: str = "", *, quotable: bool = False, **given: str) -> Rule:
    """`@size@` in a pattern is an amount of memory in a group of that name."""
    earlier = _compiled(before) if before else None
    return Rule(name, mark, _compiled(re.escape(mark) + after), earlier, given, quotable)


def bytes_of(found: Found, name: str) -> int | None:
    """A size, in whatever unit it was written; None if it is not there."""
    number = found.get(name)
    if number is None:
        return None
    unit = (found.get(f"{name}_unit") or "").upper()
    factor = 1 if unit.startswith("BYTE") else _FACTORS[unit[:1]]
    return round(min(float(number.replace(",", "")), MOST_BYTES) * factor)


def _compiled(pattern: str) -> re.Pattern[str]:
    for name in re.findall(r"@(\w+)@", pattern):
        pattern = pattern.replace(f"@{name}@", _SIZE.format(name))
    return re.compile(pattern)


def text_of(found: Found, name: str) -> str:
    return found.get(name) or ""


def number_of(found: Found, name: str) -> int | None:
    written = found.get(name)
    return int(written) if written else None
