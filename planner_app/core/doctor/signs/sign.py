"""A sign: a line that by itself says that something failed. One row of the table."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import Formatter

from planner_app.core.doctor.diagnosis import Kind, Sure
from planner_app.core.doctor.log.matching import Found, Rule, bytes_of, rule
from planner_app.units import format_bytes


@dataclass(frozen=True, slots=True)
class Sign:
    """What is matched, what it means, what to change, and how sure that is.

    Sentences may name what the line told, as in "{process} held {held}". Of `says` the first counts whose names the
    line told; of `means` and `do` those.

    Attributes:
        rules: Its spellings.
        says: The verdict, the most telling first.
        means: What lies behind it.
        do: What to change, the cheapest first; `do_jax` instead where JAX wrote the log.
        asks: The question whose answer would decide.
        recovers: The program tries again with less: no failure if the run went on.
    """

    name: str
    kind: Kind
    sure: Sure
    rules: tuple[Rule, ...]
    says: tuple[str, ...]
    means: tuple[str, ...] = ()
    do: tuple[str, ...] = ()
    do_jax: tuple[str, ...] = ()
    asks: str = ""
    recovers: bool = False


def spellings(name: str, *each: tuple[str, ...], **given: str) -> tuple[Rule, ...]:
    """Rules of one name: (mark, after, before) each."""
    return tuple(rule(name, *parts, quotable=True, **given) for parts in each)


def told(sentences: Sequence[str], found: Found) -> tuple[str, ...]:
    """The sentences that the line can fill."""
    return tuple(filter(None, (filled(sentence, found) for sentence in sentences)))


def filled(sentence: str, found: Found) -> str:
    """Empty where something is missing. Amounts of memory are the groups with a unit."""
    values = {}
    for _, name, _, _ in Formatter().parse(sentence):
        if name is None:
            continue
        size = bytes_of(found, name) if f"{name}_unit" in found else None
        value = format_bytes(size) if size is not None else found.get(name)
        if not value:
            return ""
        values[name] = value
    return sentence.format(**values)
