"""What the doctor says, for people: the verdict, then section by section."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from planner_app.core.advise import Advice
from planner_app.core.doctor import Diagnosis
from planner_app.core.doctor.comparison import Comparison
from planner_app.core.doctor.story import Section, story
from planner_app.reports import advise_text


def show(found: Diagnosis, console: Console) -> None:
    console.print(Text(found.verdict, style="bold red" if found.kind.failed else "bold green"))
    show_sections(story(found), console)


def show_comparison(compared: Comparison, console: Console) -> None:
    show_sections((Section("Beside the model", compared.said),), console)


def show_advice(advice: Advice, console: Console) -> None:
    show_sections((Section("What would make it fit", ()),), console)
    advise_text.show(advice, console)


def show_sections(sections: Iterable[Section], console: Console) -> None:
    for section in sections:
        if section.title:
            console.print(Text(f"\n{section.title}", style="bold"))
        for sentence in section.sentences:
            console.print(Text(sentence))
        for point in section.points:
            console.print(Text(f"- {point}"))
        if section.rows:
            table = Table.grid(padding=(0, 2))
            for name, *values in section.rows:
                table.add_row(Text(name, style="dim"), *map(Text, values))
            console.print(table)
        for line in section.lines:
            console.print(Text(f"{line.place or line.line:>7}  {line.text}", style="dim", overflow="fold"))
