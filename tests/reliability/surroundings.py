"""Runs Plimsoll as a separate process in an environment made by a test."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "planner_app" / "data" / "demo.keras"
PR_CAPBSET_DROP = 24
PRIVILEGES = (1, 2, 3)  # of root: to write, read and own whatever there is


def plimsoll(*words: object, unset: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """What it says and how it ends, without root's privileges."""
    given = {name: value for name, value in os.environ.items() if name not in unset.split()}
    given = {name: value for name, value in given.items() if not name.startswith(("PLIMSOLL_", "XDG_", "QT_"))}
    return subprocess.run(
        [sys.executable, "-m", "planner_app", *map(str, words)],
        env={**given, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
        preexec_fn=_without_privileges if os.geteuid() == 0 else None,
    )


def _without_privileges() -> None:
    for each in PRIVILEGES:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, each, 0, 0, 0)


def one_line(text: str) -> str:
    """The one sentence that is told."""
    (line,) = text.splitlines()
    assert line.startswith("plimsoll: "), line
    return line.removeprefix("plimsoll: ")
