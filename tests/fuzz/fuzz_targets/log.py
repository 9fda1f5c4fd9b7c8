"""Logs of any kind, as the doctor reads and tells them."""

import gzip
import io
from pathlib import Path

import msgspec
from fuzz_changes import changed_text as mutate
from rich.console import Console

from fuzz_targets.common import READ, corpus, shown
from planner_app.commands.help.doctor import as_json
from planner_app.core.doctor import Kind
from planner_app.files.logs import diagnosed
from planner_app.reports.doctor_text import show

KIND = "logs"
LOGS = Path(__file__).parents[2] / "doctor" / "logs"
LONGEST_SEED = 20_000
__all__ = ["KIND", "mutate", "run", "seeds"]


def seeds() -> list[bytes]:
    whole = [path.read_bytes() for path in sorted(LOGS.iterdir())]
    read = [gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data for data in whole]
    return [data for data in read if len(data) <= LONGEST_SEED] + corpus("logs/*")


def run(data: bytes) -> str:
    half = len(data) // 2
    found = diagnosed([data[:half], data[half:]], layers=("encoder/dense", "conv"))
    page = io.StringIO()
    show(found, Console(file=page, width=100))
    shown(page.getvalue().replace("\n", " "))
    msgspec.json.encode(as_json(found, None))
    return found.verdict if found.kind is Kind.NONE else READ
