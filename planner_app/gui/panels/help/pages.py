"""The guide's pages: Markdown files in the package, and one generated from the app's keyboard shortcuts."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from planner_app import data

FOLDER = data.FOLDER / "guide"
ORDER = (
    "start",
    "tour",
    "estimate",
    "commands",
    "api",
    "training",
    "sharding",
    "hardware",
    "measuring",
    "fleet",
    "doctor",
    "trouble",
)
KEYS = "keyboard"


@dataclass(frozen=True, slots=True)
class Page:
    name: str
    title: str

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.md"


@dataclass(frozen=True, slots=True)
class Key:
    """Attributes:
    menu: The menu that contains the action.
    """

    menu: str
    text: str
    keys: str


def pages() -> tuple[Page, ...]:
    """In reading order."""
    written = tuple(Page(name, _title(FOLDER / f"{name}.md")) for name in ORDER)
    return (*written, Page(KEYS, "Keyboard"))


def keys_page(keys: Iterable[Key]) -> str:
    """As Markdown; one table for each menu."""
    told: dict[str, list[str]] = {}
    for key in keys:
        told.setdefault(key.menu, []).append(f"| {key.text} | {key.keys} |")
    tables = [f"## {menu}\n\n| what | keys |\n|---|---|\n" + "\n".join(rows) for menu, rows in told.items()]
    return "\n\n".join(["# Keyboard", INTRODUCTION, *tables]) + "\n"


INTRODUCTION = (
    "Everything can be reached by keyboard: Tab goes from field to field, Alt opens the menus. In the chart, the arrow "
    "keys choose a point."
)


def _title(path: Path) -> str:
    """Its first heading."""
    with path.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()
