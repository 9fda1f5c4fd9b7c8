"""SECURITY.md promises nothing without a test that shows it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if re.match(r"\| \d+ \|", line)]


def test_that_every_promise_names_tests_that_are_there():
    assert len(ROWS) >= 15
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for row in ROWS:
        shown_by = row.rstrip("| ").rpartition(" | ")[2]
        folder, named = "", re.findall(r"`([^`]+)`", shown_by)
        assert named, row
        for name in named:
            if name.startswith("make "):
                assert f"\n{name.removeprefix('make ')}:" in makefile, name
                continue
            folder = name.rpartition("/")[0] or folder
            path = ROOT / (name if "/" in name else f"{folder}/{name}")
            assert path.exists(), name
            assert path.is_dir() or "def test_that_" in path.read_text(encoding="utf-8"), name


def test_that_promises_are_numbered_without_a_gap():
    assert [int(row.split("|")[1]) for row in ROWS] == list(range(1, len(ROWS) + 1))
