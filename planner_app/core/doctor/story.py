"""A diagnosis in sections, in the order they are read: what the command line and the app both show.

Only `remedies` differ: the app has a panel where the command line has a command.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from planner_app.core.doctor.diagnosis import Diagnosis, Sure
from planner_app.core.doctor.log.seen import Evidence
from planner_app.units import format_bytes

MOST_HOLDERS = 3
MOST_OTHERS = 5
LINES = "The lines that show it"
NOTED = "Lines of what is also in this log"
NOT_CERTAIN = {
    Sure.LIKELY: "Likely, not proven: the log does not rule out another cause.",
    Sure.POSSIBLE: "Possible only: the log tells too little to be sure.",
}


@dataclass(frozen=True, slots=True)
class Section:
    """Of one heading: sentences, points, rows of names and values, and lines of the log; any of them may be empty."""

    title: str
    sentences: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[Evidence, ...] = ()


def story(found: Diagnosis, remedies: Sequence[str] | None = None) -> tuple[Section, ...]:
    """Behind the verdict. `remedies` instead of the diagnosis' own."""
    shares = tuple((share.who, format_bytes(share.size_bytes)) for share in found.shares)
    doubt = NOT_CERTAIN.get(found.sure) if found.kind.failed else None
    sections = (
        Section("", (*found.why, *([doubt] if doubt else []))),
        Section("Who held the memory", found.missing, rows=shares),
        Section("What to do", points=tuple(found.remedies if remedies is None else remedies)),
        Section("One answer would decide", (found.question,) if found.question else ()),
        Section("In figures", rows=figures(found)),
        Section(LINES, lines=found.evidence),
        Section("Also in this log", points=tuple(note.text for note in found.notes)),
        Section(NOTED, lines=_noted(found)),
        Section(_more(found), rows=others(found)),
    )
    return tuple(
        section for section in sections if section.sentences or section.points or section.rows or section.lines
    )


def figures(found: Diagnosis) -> tuple[tuple[str, ...], ...]:
    """What the log tells in numbers and names, without what it does not tell."""
    about = "" if found.exact or not found.requested_bytes else "about "
    shape = " x ".join(map(str, found.shape)) if found.shape else ""
    rows = [
        ("layer", found.layer),
        ("operation", found.operation),
        ("device", " ".join(filter(None, (found.device, found.device_name)))),
        ("process", found.rank),
        ("allocator", found.allocator),
        ("asked for", f"{about}{_size(found.requested_bytes)}" if found.requested_bytes else ""),
        ("tensor", f"{shape}, {found.dtype}" if shape and found.dtype else shape),
        ("in use", _size(found.in_use_bytes)),
        ("limit", _size(found.limit_bytes)),
        ("device's memory", _size(found.total_bytes)),
        ("largest free piece", _size(found.largest_free_bytes)),
        ("most in use before", _size(found.peak_bytes)),
        ("batch size in the log", str(found.batch) if found.batch else ""),
        ("precision in the log", found.precision),
        ("TensorFlow", found.version),
    ]
    for holder in found.holders[:MOST_HOLDERS]:
        of = f" ({holder.layer})" if holder.layer else ""
        rows.append(("held by", f"{holder.name}{of}: {format_bytes(holder.size_bytes)}"))
    return tuple(row for row in rows if row[1])


def _noted(found: Diagnosis) -> tuple[Evidence, ...]:
    """A line of each note, unless it is shown already."""
    shown = {each.line for each in found.evidence}
    noted = (line for note in found.notes for line in note.evidence[:1] if line.line not in shown)
    return tuple(sorted(noted, key=lambda each: each.line))


def others(found: Diagnosis) -> tuple[tuple[str, ...], ...]:
    rows = []
    for other in found.others[:MOST_OTHERS]:
        size = format_bytes(other.requested_bytes) if other.requested_bytes else ""
        said = " ".join(filter(None, (other.device, size, other.operation, other.what)))
        rows.append((f"line {other.line}", said or "out of memory"))
    left = len(found.others) + found.more - len(rows)
    return (*rows, ("", f"and {left} more")) if rows and left > 0 else tuple(rows)


def _more(found: Diagnosis) -> str:
    count = len(found.others) + found.more
    return f"{count} more failure{'s' if count > 1 else ''} in this log"


def _size(count: int | None) -> str:
    return "" if count is None else f"{format_bytes(count)} ({count:,} bytes)"
