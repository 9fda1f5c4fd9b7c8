"""How a line is recognised, in time that grows with its length and no faster.

A rule has a mark, plain text that the line must hold (most lines of most logs hold none and cost nothing), and a
pattern that must match where the mark stands, without going back over what it has read: repetitions are bounded or
possessive. Prefixes (time, level, file) changed with every release: they are not read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from planner_app.units import MOST_BYTES

Found = Mapping[str, str | None]

REACH = 120  # characters before the mark that a rule may look at
MOST_PLACES = 4  # of one line where a mark is tried
# HumanReadableNumBytes; CuPy writes "1,024 bytes", numpy "184. MiB"; "10.76G" was StreamExecutor's spelling until 2.16, and is TPUs' still.
_SIZE = (
    r"(?P<{0}>\d{{1,3}}(?:,\d{{3}}){{1,6}}+(?![,\d])|\d{{1,20}}+(?:\.\d{{1,9}}+|\.(?= [kKMGTPE]))?+)"
    r"(?: ?(?P<{0}_unit>[kKMGTPE]?i?B(?![a-z])|[KMGTPE](?![a-zA-Z])|[Bb]ytes?+))?+"
)
# A sentence about failures, in a README or a comment, names them as a log does.
_LEADS_TO = re.compile(
    r"(?:^|\s)#{1,6} +[A-Za-z]|`$|\b(?:[Ii]f|[Ww]hen|[Ww]henever|[Uu]nless|[Ii]n case of|[Ii]nstead of|[Hh]ow to|[Tt]o (?:avoid|"
    r"prevent|fix|handle|catch)|[Yy]ou (?:may|might|can|will|see|get)|(?:may|might|can|could) (?:also )?(?:see|get|cause|"
    r"lead|raise|throw|happen|mean|end)|means|usually|often|sometimes|typically|e\.g\.|such as)\b"
)
_LEADS_ON = re.compile(r"`|.{0,40}?\b(?:means|usually|often|typically|happens|occurs|is raised|in the logs?)\b")
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
            if (found := self.after.match(text, place)) and not (self.quotable and _in_prose(text, place, found.end())):
                if self.before is None:
                    return {**found.groupdict(), **self.given}
                if earlier := self.before.search(text[max(0, place - REACH) : place]):
                    return {**earlier.groupdict(), **found.groupdict(), **self.given}
            place = text.find(self.mark, place + 1)
        return None


def _in_prose(text: str, start: int, end: int) -> bool:
    return bool(_LEADS_TO.search(text[max(0, start - REACH) : start]) or _LEADS_ON.match(text, end))


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
