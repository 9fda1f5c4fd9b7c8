"""What this release is: its version, from planner_app/__init__.py alone, and its date, from CHANGELOG.md."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Release:
    version: str
    date: str
    released: bool


def this_release() -> Release:
    """The newest heading of the change log says when: "## 1.2.3, 2026-12-01", or "## 1.2.3, not released yet"."""
    version = _found(r'^__version__ = "(.+)"$', ROOT / "planner_app" / "__init__.py")
    heading = _found(r"^## (.+)$", ROOT / "CHANGELOG.md")
    named, _, when = heading.partition(", ")
    if named != version:
        raise SystemExit(f"CHANGELOG.md begins with {named}, and planner_app/__init__.py says {version}.")
    released = re.fullmatch(r"\d{4}-\d\d-\d\d", when) is not None
    return Release(version, when if released else datetime.now(UTC).date().isoformat(), released)


def _found(pattern: str, file: Path) -> str:
    found = re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{file.name} has no line like {pattern}.")
    return found[1]


if __name__ == "__main__":
    print(this_release().version)
