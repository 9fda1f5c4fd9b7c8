"""A `Diagnosis` for people: the verdict, why, what to do, and the lines of the log."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.core.doctor import Diagnosis, Evidence
from planner_app.core.doctor.comparison import Comparison
from planner_app.units import format_bytes

MOST_OTHERS = 5


def show(found: Diagnosis, compared: Comparison | None, console: Console) -> None:
    console.print(Text(found.verdict, style="bold red" if found.kind.failed else "bold green"))
    for line in found.why:
        console.print(Text(line))
    _facts(found, console)
    if compared is not None:
        _section(console, "beside the model")
        for line in compared.said:
            console.print(Text(line))
    if found.remedies:
        _section(console, "what to do")
        for line in found.remedies:
            console.print(Text(f"- {line}"))
    _lines("the lines that show it", found.evidence, console)
    for note in found.notes:
        _section(console, "also in this log")
        console.print(Text(note.text))
        _lines("", note.evidence[:1], console)
    _others(found, console)


def _facts(found: Diagnosis, console: Console) -> None:
    facts = {
        "operation": found.operation,
        "device": " ".join(filter(None, (found.device, found.device_name))),
        "allocator": found.allocator,
        "asked for": _size(found.requested_bytes) + ("" if found.exact or not found.requested_bytes else " or so"),
        "in use": _size(found.in_use_bytes),
        "limit": _size(found.limit_bytes),
        "largest free piece": _size(found.largest_free_bytes),
        "most in use before": _size(found.peak_bytes),
    }
    if not any(facts.values()):
        return
    _section(console, "in figures")
    table = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        if value:
            table.add_row(Text(name, style="dim"), Text(value))
    for holder in found.holders[:3]:
        of = f" ({holder.layer})" if holder.layer else ""
        table.add_row(Text("held by", style="dim"), Text(f"{holder.name}{of}: {format_bytes(holder.size_bytes)}"))
    console.print(table)


def _size(count: int | None) -> str:
    return "" if count is None else f"{format_bytes(count)} ({count} bytes)"


def _lines(title: str, evidence: tuple[Evidence, ...], console: Console) -> None:
    if not evidence:
        return
    if title:
        _section(console, title)
    for line in evidence:
        console.print(Text(f"{line.line:>7}  {line.text}", style="dim", overflow="fold"))


def _others(found: Diagnosis, console: Console) -> None:
    if not found.others:
        return
    count = len(found.others) + found.more
    _section(console, f"{count} more failure{'s' if count > 1 else ''} in this log")
    for other in found.others[:MOST_OTHERS]:
        size = format_bytes(other.requested_bytes) if other.requested_bytes else "?"
        console.print(Text(f"{other.line:>7}  {other.device} {size} {other.operation}", style="dim"))


def _section(console: Console, title: str) -> None:
    console.print(Text(f"\n{title}", style="bold"))
