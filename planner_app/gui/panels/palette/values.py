"""The command palette as plain values: entries, and which of them match what was typed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

MOST = 60


@dataclass(frozen=True, slots=True)
class Entry:
    """Something to do.

    Attributes:
        where: The menu it is in, or what kind of thing it is.
        keys: Its shortcut; may be empty.
    """

    text: str
    where: str
    run: Callable[[], object]
    keys: str = ""


def matching(entries: Sequence[Entry], typed: str) -> list[Entry]:
    """Those that contain every word, best first: at the start of the text, of a word, then anywhere."""
    words = typed.lower().split()
    ranked = [
        (rank, number, entry) for number, entry in enumerate(entries) if (rank := _rank(entry, words)) is not None
    ]
    return [entry for _, _, entry in sorted(ranked, key=lambda each: each[:2])][:MOST]


def _rank(entry: Entry, words: Sequence[str]) -> int | None:
    text, everything = entry.text.lower(), f"{entry.text} {entry.where}".lower()
    if not all(word in everything for word in words):
        return None
    if not words or text.startswith(words[0]):
        return 0
    if all(any(part.startswith(word) for part in text.split()) for word in words):
        return 1
    return 2 if all(word in text for word in words) else 3
